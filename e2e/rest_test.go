package e2e

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/plan/names"
)

// restTime is how long nothing may be written any more once all is as it should be.
const restTime = 3 * time.Second

// wantedObjects are the objects that a ModelServing is to have whose groups are 0 .. replicas-1.
func wantedObjects(ms *workloadv1alpha1.ModelServing) []string {
	var want []string
	for g := range int(ptr.Deref(ms.Spec.Replicas, 1)) {
		group := names.Group(ms.Name, g)
		if ms.Spec.SchedulerName == names.SchedulerVolcano {
			want = append(want, "PodGroup "+group)
		}
		for _, role := range ms.Spec.Template.Roles {
			for r := range int(ptr.Deref(role.Replicas, 1)) {
				id := names.RoleReplica(role.Name, r)
				if role.WorkerReplicas > 0 {
					want = append(want, "Service "+names.EntryService(group, id))
				}
				for n := range 1 + int(role.WorkerReplicas) {
					want = append(want, "Pod "+names.Pod(group, id, n))
				}
			}
		}
	}
	slices.Sort(want)
	return want
}

// owned lists what is there of those kinds and is labelled as the ModelServing's, and what is wrong
// with any of it.
func owned(ctx context.Context, ms *workloadv1alpha1.ModelServing) (there []string, wrong string) {
	match := []client.ListOption{client.InNamespace(ms.Namespace), client.MatchingLabels{names.LabelModelServing: ms.Name}}
	var podList corev1.PodList
	var services corev1.ServiceList
	var podGroups schedulingv1beta1.PodGroupList
	for _, list := range []client.ObjectList{&podList, &services, &podGroups} {
		if err := k8s.List(ctx, list, match...); err != nil {
			return nil, err.Error()
		}
	}
	for i := range podList.Items {
		p := &podList.Items[i]
		there = append(there, "Pod "+p.Name)
		switch {
		case !podReady(p):
			wrong = fmt.Sprintf("Pod %q is not Ready", p.Name)
		case p.Spec.SchedulerName != ms.Spec.SchedulerName:
			wrong = fmt.Sprintf("Pod %q has scheduler %q, want %q", p.Name, p.Spec.SchedulerName, ms.Spec.SchedulerName)
		}
	}
	for i := range services.Items {
		if services.Items[i].Spec.ClusterIP == corev1.ClusterIPNone {
			there = append(there, "Service "+services.Items[i].Name)
		}
	}
	for i := range podGroups.Items {
		there = append(there, "PodGroup "+podGroups.Items[i].Name)
	}
	slices.Sort(there)
	return there, wrong
}

// waitRest waits until exactly what is wanted is there, Ready and rolled out, and until nothing is
// written any more.
func waitRest(t *testing.T, ms *workloadv1alpha1.ModelServing) {
	t.Helper()
	waitRolledOut(t, ms)
	eventually(t, timeout, func(ctx context.Context) string {
		there, wrong := owned(ctx, ms)
		if diff := cmp.Diff(wantedObjects(ms), there); diff != "" {
			return "objects (-want +got):\n" + diff
		}
		return wrong
	})
	// Volcano and the kubelets settle the status of what is theirs a moment later.
	var last map[string]string
	since := time.Now()
	eventually(t, timeout, func(context.Context) string {
		now := versions(t, ms)
		if diff := cmp.Diff(last, now); diff != "" {
			last, since = now, time.Now()
			return "written at rest (-before +after):\n" + diff
		}
		if time.Since(since) < restTime {
			return "nothing was written for a moment"
		}
		return ""
	})
}
