// Package names builds every name that Gangway gives to an object, and reads them back.
// A name is built here or nowhere.
package names

import (
	"strconv"
	"strings"
)

// Group is the name of ServingGroup number g, and of its PodGroup.
func Group(modelServing string, g int) string {
	return modelServing + "-" + strconv.Itoa(g)
}

// RoleReplica is the id of replica number r of a role, unique within its ServingGroup.
func RoleReplica(role string, r int) string {
	return role + "-" + strconv.Itoa(r)
}

// Pod is the name of Pod number n (0 the entry, 1.. the workers) of a role replica.
func Pod(group, roleReplica string, n int) string {
	return group + "-" + roleReplica + "-" + strconv.Itoa(n)
}

// EntryService is the name of the headless Service of a role replica: its entry Pod's.
func EntryService(group, roleReplica string) string {
	return Pod(group, roleReplica, 0)
}

// EntryAddress is the DNS name under which the Pods of a role replica find their entry Pod.
func EntryAddress(group, roleReplica, namespace string) string {
	return EntryService(group, roleReplica) + "." + namespace
}

// Revision is the name of the ControllerRevision with that hash.
func Revision(modelServing, hash string) string {
	return modelServing + "-" + hash
}

// GroupOrdinal reads the number back out of the name of a ServingGroup of that ModelServing.
func GroupOrdinal(modelServing, group string) (int, bool) {
	return ordinalAfter(modelServing+"-", group)
}

// RoleReplicaOrdinal reads the number back out of the id of a role replica of that role.
func RoleReplicaOrdinal(role, roleReplica string) (int, bool) {
	return ordinalAfter(role+"-", roleReplica)
}

// PodIndex reads the number back out of the name of a Pod of that role replica.
func PodIndex(group, roleReplica, pod string) (int, bool) {
	return ordinalAfter(group+"-"+roleReplica+"-", pod)
}

// ordinalAfter accepts only what strconv.Itoa would have written, so that no two names mean one ordinal.
func ordinalAfter(prefix, s string) (int, bool) {
	digits, ok := strings.CutPrefix(s, prefix)
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(digits)
	if err != nil || n < 0 || strconv.Itoa(n) != digits {
		return 0, false
	}
	return n, true
}
