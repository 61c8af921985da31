package validating

import (
	"fmt"
	"regexp"
	"strconv"

	"k8s.io/apimachinery/pkg/util/validation/field"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
)

// part names what a field path speaks of by names instead of list indexes, so that a fault is
// recognized after something was inserted before it.
type part func(path string) string

// ratchet splits the faults of an updated object into those that the update brought and, as
// warnings, those that the old object has too: the same rule, broken by the same value of the same
// part, with the same way out. A way out speaks of everything that a rule compares, so that a
// change of either side makes it another fault.
func ratchet(now, before field.ErrorList, nowPart, beforePart part) (field.ErrorList, []Warning) {
	known := map[string]int{}
	for _, err := range before {
		known[faultKey(err, beforePart)]++
	}
	var brought, kept field.ErrorList
	for _, err := range now {
		if key := faultKey(err, nowPart); known[key] > 0 {
			known[key]--
			kept = append(kept, err)
			continue
		}
		brought = append(brought, err)
	}
	return brought, asWarnings(kept)
}

func asWarnings(errs field.ErrorList) []Warning {
	var warnings []Warning
	for _, err := range errs {
		warnings = append(warnings, Warning{
			Rule:    err.Origin,
			Field:   err.Field,
			Message: err.ErrorBody() + " (accepted, since the update does not touch it)",
		})
	}
	return warnings
}

func faultKey(err *field.Error, p part) string {
	return fmt.Sprintf("%s\x00%s\x00%v\x00%s\x00%s",
		err.Origin, p(err.Field), err.BadValue, err.Type, roleIndex.ReplaceAllString(err.Detail, "roles[]"))
}

var (
	roleIndex      = regexp.MustCompile(`roles\[\d+\]`)
	rolePrefix     = regexp.MustCompile(`^spec\.template\.roles\[(\d+)\]`)
	containerIndex = regexp.MustCompile(`^(.*\.(entryTemplate|workerTemplate)\.spec\.(containers|initContainers))\[(\d+)\]`)
)

func modelServingPart(ms *workloadv1alpha1.ModelServing) part {
	return func(path string) string {
		m := rolePrefix.FindStringSubmatchIndex(path)
		if m == nil {
			return path
		}
		i, err := strconv.Atoi(path[m[2]:m[3]])
		if err != nil || i >= len(ms.Spec.Template.Roles) {
			return path
		}
		role := &ms.Spec.Template.Roles[i]
		return "spec.template.roles[" + role.Name + "]" + containerPart(role, path[m[1]:])
	}
}

// containerPart replaces the index of a container in a path below a role by the container's name.
func containerPart(role *workloadv1alpha1.Role, path string) string {
	m := containerIndex.FindStringSubmatch(path)
	if m == nil {
		return path
	}
	template := &role.EntryTemplate
	if m[2] == "workerTemplate" {
		template = role.WorkerTemplate
	}
	i, err := strconv.Atoi(m[4])
	if err != nil || template == nil {
		return path
	}
	containers := template.Spec.Containers
	if m[3] == "initContainers" {
		containers = template.Spec.InitContainers
	}
	if i >= len(containers) {
		return path
	}
	return m[1] + "[" + containers[i].Name + "]" + path[len(m[0]):]
}
