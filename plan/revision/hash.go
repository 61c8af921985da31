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
	return roleHash(t.SchedulerName, &r)
}

func roleHashes(t Template) map[string]string {
	all := make(map[string]string, len(t.Roles))
	for i := range t.Roles {
		all[t.Roles[i].Name] = roleHash(t.SchedulerName, &t.Roles[i])
	}
	return all
}

func roleHash(schedulerName string, role *workloadv1alpha1.Role) string {
	r := canonicalRole(role)
	b, err := canonicalJSON(data{SchedulerName: schedulerName, Roles: []roleData{{
		EntryTemplate: &r.EntryTemplate, WorkerReplicas: r.WorkerReplicas, WorkerTemplate: r.WorkerTemplate,
	}}})
	if err != nil {
		// A template came out of JSON, so it goes into JSON: only a Quantity built by hand can fail.
		panic(fmt.Sprintf("serialize role %q: %v", role.Name, err))
	}
	return Hash(b, nil)
}

// canonicalJSON sorts the keys of all objects, and drops the one struct that Kubernetes' types
// write out even when it is empty.
func canonicalJSON(v any) ([]byte, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("serialize template: %w", err)
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var tree any
	if err := d.Decode(&tree); err != nil {
		return nil, fmt.Errorf("serialize template: %w", err)
	}
	dropEmptyResources(tree)
	b, err = json.Marshal(tree)
	if err != nil {
		return nil, fmt.Errorf("serialize template: %w", err)
	}
	return b, nil
}

func dropEmptyResources(tree any) {
	switch n := tree.(type) {
	case []any:
		for _, v := range n {
			dropEmptyResources(v)
		}
	case map[string]any:
		if r, ok := n["resources"].(map[string]any); ok && len(r) == 0 {
			delete(n, "resources")
		}
		for _, v := range n {
			dropEmptyResources(v)
		}
	}
}
