package names

import "strings"

// Fields say what part of a ModelServing an Event tells of, in the notation of an ObjectReference.

// RoleField is a role.
func RoleField(role string) string { return "spec.template.roles{" + role + "}" }

// RecoveryField is the recovery of a role replica or, with roleReplica "", of a whole ServingGroup.
func RecoveryField(group, roleReplica string) string {
	return "status.recoveries{" + strings.TrimSuffix(group+"/"+roleReplica, "/") + "}"
}
