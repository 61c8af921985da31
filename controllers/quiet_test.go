package controllers_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	gangwaytesting "github.com/gangway-serving/gangway/internal/testing"
)

// A GitOps tool applies what the user wrote; the live object has defaults; Gangway must see no
// difference between them, nor between a template and the same with its defaults spelled out.
func TestManifestAppliedAgainWithItsDefaultsSpelledOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ms := twoRoles(2).Obj()
	w.create(ms)
	w.available(ms, 2)
	before := len(w.net.writes())
	update, pods := ms.Status.UpdateRevision, uids(w.pods(ms))

	w.change(ms, func(ms *workloadv1alpha1.ModelServing) {
		for i := range ms.Spec.Template.Roles {
			role := &ms.Spec.Template.Roles[i]
			for _, tpl := range []*workloadv1alpha1.PodTemplateSpec{&role.EntryTemplate, role.WorkerTemplate} {
				if tpl == nil {
					continue
				}
				spec := &tpl.Spec
				spec.RestartPolicy = corev1.RestartPolicyAlways
				spec.DNSPolicy = corev1.DNSClusterFirst
				spec.TerminationGracePeriodSeconds = ptr.To[int64](30)
				spec.SecurityContext = &corev1.PodSecurityContext{}
				spec.Containers[0].ImagePullPolicy = corev1.PullIfNotPresent
				spec.Containers[0].TerminationMessagePath = corev1.TerminationMessagePathDefault
				spec.Containers[0].TerminationMessagePolicy = corev1.TerminationMessageReadFile
				for p := range spec.Containers[0].Ports {
					spec.Containers[0].Ports[p].Protocol = corev1.ProtocolTCP
				}
			}
		}
	})
	w.eventually("the new generation is observed", func() error {
		w.get(ms)
		if ms.Status.ObservedGeneration != ms.Generation {
			return fmt.Errorf("observedGeneration %d of %d", ms.Status.ObservedGeneration, ms.Generation)
		}
		return nil
	})
	w.quiet(ms)
	for _, write := range w.net.writes()[before:] {
		if !strings.HasSuffix(write, "/modelservings/ms/status") { // observedGeneration
			t.Errorf("wrote: %s", write)
		}
	}
	w.get(ms)
	if ms.Status.UpdateRevision != update {
		t.Errorf("update revision went from %s to %s", update, ms.Status.UpdateRevision)
	}
	var revisions appsv1.ControllerRevisionList
	if err := w.client.List(context.Background(), &revisions, client.InNamespace(w.ns)); err != nil || len(revisions.Items) != 1 {
		t.Errorf("%d ControllerRevisions, error %v", len(revisions.Items), err)
	}
	if now := uids(w.pods(ms)); fmt.Sprint(now) != fmt.Sprint(pods) {
		t.Errorf("Pods went from %v to %v", pods, now)
	}
}

// A resync passes over every ModelServing and must find nothing to write.
func TestResyncOfManyModelServingsWritesNothing(t *testing.T) {
	t.Parallel()
	w := newWorldOn(t, shared)
	w.start()
	const many = 20
	var all []*workloadv1alpha1.ModelServing
	for i := range many {
		ms := gangwaytesting.MakeModelServing(fmt.Sprintf("ms-%d", i)).
			Role(gangwaytesting.MakeRole("prefill").Workers(1).Obj()).
			Role(gangwaytesting.MakeRole("decode").Obj()).Obj()
		w.create(ms)
		all = append(all, ms)
	}
	for _, ms := range all {
		w.available(ms, 1)
	}
	// A new manager sees every object as new; then it resyncs every second.
	w.stop()
	w.resync = ptr.To(time.Second)
	before := len(w.net.writes())
	passes := w.clock.passes.Load()
	w.start()
	w.eventually("a start and two resyncs", func() error {
		if got := w.clock.passes.Load() - passes; got < 3*many {
			return fmt.Errorf("%d passes", got)
		}
		return nil
	})
	if wrote := w.net.writes()[before:]; len(wrote) > 0 {
		t.Errorf("wrote:\n  %s", strings.Join(wrote, "\n  "))
	}
}

// What no planner reads must cost no pass.
func TestPodUpdatesThatChangeNothingWeReadCostNoPass(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ms := single(1).Obj()
	w.create(ms)
	w.available(ms, 1)
	w.quiet(ms)
	before := w.clock.passes.Load()
	for i := range 150 {
		w.kubelet.update("ms-0-main-0-0", func(pod *corev1.Pod) {
			pod.Status.HostIP = "10.0.0.1"
			pod.Status.PodIP = fmt.Sprintf("10.1.0.%d", i+1)
			pod.Status.PodIPs = []corev1.PodIP{{IP: pod.Status.PodIP}}
			for c := range pod.Status.Conditions {
				pod.Status.Conditions[c].LastProbeTime = metav1.Now()
			}
		})
	}
	// The same informer brings a change that counts, so all those before it have been seen.
	w.kubelet.ready("ms-0-main-0-0", false)
	w.condition(ms, workloadv1alpha1.ConditionReady, metav1.ConditionFalse, workloadv1alpha1.ReasonPodsNotReady)
	if got := w.clock.passes.Load() - before; got > 5 {
		t.Errorf("%d passes", got)
	}
}
