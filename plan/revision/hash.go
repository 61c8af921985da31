package revision

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strconv"

	"k8s.io/apimachinery/pkg/util/rand"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
)

// Hash is a short hash of a revision's data, fit for names and labels. The collision count, when
// there is one, makes another hash of the same data.
func Hash(data []byte, collisionCount *int32) string {
	h := fnv.New32a()
	h.Write(data)
	if collisionCount != nil {
		h.Write([]byte(strconv.FormatInt(int64(*collisionCount), 10)))
	}
	return rand.SafeEncodeString(strconv.FormatUint(uint64(h.Sum32()), 10))
}

// RoleHash is the hash of a role's templates and workerReplicas and of the schedulerName: of all
// that makes the Pods of that role. "" for a role that the template does not have.
func RoleHash(t Template, role string) string {
	if h, ok := t.RoleHashes[role]; ok {
		return h
	}
	r, ok := t.Role(role)
	if !ok {
		return ""
	}
	r = canonicalRole(&r)
	return roleHash(t.SchedulerName, &r)
}

// roleHashes hashes roles that are in canonical form.
func roleHashes(schedulerName string, roles []workloadv1alpha1.Role) map[string]string {
	all := make(map[string]string, len(roles))
	for i := range roles {
		all[roles[i].Name] = roleHash(schedulerName, &roles[i])
	}
	return all
}

func roleHash(schedulerName string, role *workloadv1alpha1.Role) string {
	b, err := canonicalJSON(data{SchedulerName: schedulerName, Roles: []roleData{{
		EntryTemplate: &role.EntryTemplate, WorkerReplicas: role.WorkerReplicas, WorkerTemplate: role.WorkerTemplate,
	}}})
	if err != nil {
		// A template came out of JSON, so it goes into JSON: only a Quantity built by hand can fail.
		panic(fmt.Sprintf("serialize role %q: %v", role.Name, err))
	}
	return Hash(b, nil)
}

// canonicalJSON serializes with maps sorted by key and without the one struct that Kubernetes' types
// write out even when it is empty. Within a string its quotes would be escaped, so that nothing else
// can look like it.
func canonicalJSON(v any) ([]byte, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("serialize template: %w", err)
	}
	return bytes.ReplaceAll(b, []byte(`,"resources":{}`), nil), nil
}

// byKey sorts the fields of JSON objects by their names. It is what the API server makes of the data
// of a ControllerRevision when it applies a patch to its metadata: stored in any other order, the
// data would seem to change, and every such patch, the garbage collector's too, would be refused.
func byKey(b []byte) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("sort template: %w", err)
	}
	b, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("sort template: %w", err)
	}
	return b, nil
}
