package status

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
)

func TestReadySaysWhatIsWrong(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*scene)
		input  func(*Input)
		want   line
	}{
		"all is well": {
			want: line{"True", "AllGroupsAvailable", "2 of 2 ServingGroups are available"},
		},
		"a gang that does not fit, in the scheduler's words": {
			change: func(s *scene) {
				s.pending("ms-1-prefill-0-0")
				s.pending("ms-1-prefill-0-1")
				s.podGroups[1].Status.Conditions = []schedulingv1beta1.PodGroupCondition{{
					Type: schedulingv1beta1.PodGroupUnschedulableType, Status: corev1.ConditionTrue,
					Message: "2/2 tasks in gang unschedulable: pod group is not ready",
				}}
			},
			want: line{"False", "GangPending", `ServingGroup "ms-1": 0 of the 2 Pods that its gang needs are scheduled: 2/2 tasks in gang unschedulable: pod group is not ready`},
		},
		"what Volcano said before it scheduled the gang does not count": {
			change: func(s *scene) {
				s.starting("ms-1-prefill-0-1")
				s.podGroups[1].Status.Conditions = []schedulingv1beta1.PodGroupCondition{
					{Type: schedulingv1beta1.PodGroupUnschedulableType, Status: corev1.ConditionTrue, Message: "old", LastTransitionTime: metav1.NewTime(t0)},
					{Type: schedulingv1beta1.PodGroupScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(now)},
				}
			},
			want: line{"False", "PodsNotReady", `Pod "ms-1-prefill-0-1": its containers are not Ready yet`},
		},
		"a gang of which Volcano says nothing, as when there is no such queue": {
			change: func(s *scene) {
				s.pending("ms-1-prefill-0-0")
				s.pending("ms-1-prefill-0-1")
				s.podGroups[1].Spec.Queue = "nope"
			},
			want: line{"False", "GangPending", `ServingGroup "ms-1": 0 of the 2 Pods that its gang needs are scheduled: the scheduler has said nothing of them; is "volcano" running, and the queue "nope" there and open?`},
		},
		"a Pod of which no scheduler says anything": {
			change: func(s *scene) {
				s.podGroups = nil
				s.pending("ms-1-prefill-0-0").Spec.SchedulerName = "theirs"
			},
			want: line{"False", "Unschedulable", `Pod "ms-1-prefill-0-0": no scheduler has said anything of it; is "theirs" running?`},
		},
		"a PodGroup that asks for more than the group has": {
			change: func(s *scene) {
				s.podGroups[1].Spec.MinMember = 99
				s.pending("ms-1-prefill-0-0")
			},
			want: line{"False", "GangPending", `ServingGroup "ms-1": its PodGroup asks for 99 Pods, and the group has 2: something in the cluster changes PodGroups as they are written`},
		},
		"a Pod whose node was not ready": {
			change: func(s *scene) {
				w := s.pods["ms-0-prefill-0-0"]
				for i := range w.Status.Conditions {
					if c := &w.Status.Conditions[i]; c.Type == corev1.PodReady {
						c.Status = corev1.ConditionFalse
					}
				}
			},
			want: line{"False", "PodsNotReady", `Pod "ms-0-prefill-0-0": its containers are Ready, and it is not: a readiness gate is not met, or node "node-0" was not ready`},
		},
		"a Pod that does not fit while its gang does": {
			change: func(s *scene) {
				s.podGroups[0].Spec.MinMember = 1
				s.pending("ms-0-prefill-0-1").Unschedulable(t0, "0/5 nodes are available: 5 Insufficient nvidia.com/gpu")
			},
			want: line{"False", "Unschedulable", `Pod "ms-0-prefill-0-1": 0/5 nodes are available: 5 Insufficient nvidia.com/gpu`},
		},
		"an image that cannot be pulled": {
			change: func(s *scene) {
				s.starting("ms-0-prefill-0-0").Waiting("ImagePullBackOff", `Back-off pulling image "x:1"`)
			},
			want: line{"False", "ImagePullFailed", `Pod "ms-0-prefill-0-0", container "server": ImagePullBackOff: Back-off pulling image "x:1"`},
		},
		"the worst is told first, wherever it is": {
			change: func(s *scene) {
				s.starting("ms-0-prefill-0-0")
				s.starting("ms-1-prefill-0-0").Waiting("ErrImagePull", "no such host")
			},
			want: line{"False", "ImagePullFailed", `Pod "ms-1-prefill-0-0", container "server": ErrImagePull: no such host`},
		},
		"a container that crashes again and again": {
			change: func(s *scene) {
				s.starting("ms-0-prefill-0-0").Restarted(now).Waiting("CrashLoopBackOff", "back-off 40s restarting failed container")
			},
			want: line{"False", "CrashLooping", `Pod "ms-0-prefill-0-0", container "server": exit code 1: Error; CrashLoopBackOff: back-off 40s restarting failed container`},
		},
		"an init container that fails": {
			change: func(s *scene) {
				w := s.pending("ms-0-prefill-0-0").Scheduled(t0, "node-0")
				w.Status.InitContainerStatuses = []corev1.ContainerStatus{{
					Name: "fetch", RestartCount: 2,
					State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: "back-off 20s"}},
					LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
						ExitCode: 3, Reason: "Error", Message: "no such model",
					}},
				}}
			},
			want: line{"False", "InitContainerFailed", `Pod "ms-0-prefill-0-0", init container "fetch": exit code 3: Error: no such model; CrashLoopBackOff: back-off 20s`},
		},
		"a container that cannot be made": {
			change: func(s *scene) {
				s.starting("ms-0-prefill-0-0").Waiting("CreateContainerConfigError", `secret "token" not found`)
			},
			want: line{"False", "ContainerConfigError", `Pod "ms-0-prefill-0-0", container "server": CreateContainerConfigError: secret "token" not found`},
		},
		"a Pod in phase Failed": {
			change: func(s *scene) {
				s.pods["ms-0-prefill-0-0"].Failed(now, "Evicted", "The node was low on resource: memory.")
			},
			want: line{"False", "PodFailed", `Pod "ms-0-prefill-0-0" is in phase Failed: Evicted: The node was low on resource: memory.`},
		},
		"a Pod that was evicted, whose containers were killed for it": {
			change: func(s *scene) {
				w := s.pods["ms-0-prefill-0-0"].Restarted(now).Failed(now, "Evicted", "The node was low on resource: memory.")
				w.Status.ContainerStatuses[0].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "Error"}}
			},
			want: line{"False", "PodFailed", `Pod "ms-0-prefill-0-0" is in phase Failed: Evicted: The node was low on resource: memory.: container "server" ended with exit code 137: Error`},
		},
		"a Pod that has come to its end": {
			change: func(s *scene) {
				s.pods["ms-0-prefill-0-0"].Failed(now, "", "").Status.Phase = corev1.PodSucceeded
			},
			want: line{"False", "PodFailed", `Pod "ms-0-prefill-0-0" is in phase Succeeded`},
		},
		"a Pod in phase Failed whose recovery waits": {
			change: func(s *scene) {
				s.pods["ms-0-prefill-0-0"].Failed(now, "Evicted", "low on memory")
			},
			input: func(in *Input) {
				in.Groups[0].Pending = `Pod "ms-0-prefill-0-0" is in phase Failed Evicted; its recreation waits for the back-off`
			},
			want: line{"False", "PodFailed", `Pod "ms-0-prefill-0-0" is in phase Failed: Evicted: low on memory; Pod "ms-0-prefill-0-0" is in phase Failed Evicted; its recreation waits for the back-off`},
		},
		"a PodGroup that a finalizer holds": {
			change: func(s *scene) {
				delete(s.pods, "ms-1-prefill-0-0")
				delete(s.pods, "ms-1-prefill-0-1")
				s.podGroups[1].DeletionTimestamp = ptr.To(metav1.NewTime(now.Add(-time.Minute)))
				s.podGroups[1].Finalizers = []string{"theirs.example/hold"}
			},
			input: func(in *Input) { in.Groups[1].Available = false },
			want:  line{"False", "PodTerminating", `PodGroup "ms-1" hangs in Terminating: it has the finalizers theirs.example/hold; its successor waits for the name`},
		},
		"a recovery that waits": {
			change: func(s *scene) { s.starting("ms-0-prefill-0-0") },
			input:  func(in *Input) { in.Groups[0].Pending = `Pod "x" was deleted; its recreation waits for the back-off` },
			want:   line{"False", "Recovering", `ServingGroup "ms-0": Pod "x" was deleted; its recreation waits for the back-off`},
		},
		"a recovery that is under way": {
			change: func(s *scene) { s.starting("ms-0-prefill-0-0") },
			input: func(in *Input) {
				in.Groups[0].Recovered = "role replica prefill-0 is being recreated after 2 failures in a row"
			},
			want: line{"False", "Recovering", `ServingGroup "ms-0": role replica prefill-0 is being recreated after 2 failures in a row`},
		},
		"a name that is not free yet": {
			change: func(s *scene) { s.pods["ms-0-prefill-0-0"].Terminating(now) },
			want:   line{"False", "PodTerminating", `Pod "ms-0-prefill-0-0" is terminating; its successor waits for the name`},
		},
		"a group that is not there yet": {
			change: func(s *scene) { delete(s.pods, "ms-1-prefill-0-0") },
			input:  func(in *Input) { in.Groups[1].Creates = 1 },
			want:   line{"False", "GroupsCreating", `ServingGroup "ms-1" is being created`},
		},
		"what the kubelet says of a Pod that is not Ready": {
			change: func(s *scene) {
				w := s.starting("ms-0-prefill-0-0")
				for i := range w.Status.Conditions {
					if w.Status.Conditions[i].Type == corev1.PodReady {
						w.Status.Conditions[i].Message = "containers with unready status: [server]"
					}
				}
			},
			want: line{"False", "PodsNotReady", `Pod "ms-0-prefill-0-0": containers with unready status: [server]`},
		},
		"a rollout is on, and its own deletions are no news": {
			change: func(s *scene) { s.pods["ms-1-prefill-0-0"].Terminating(now) },
			input:  func(in *Input) { in.Groups[0].Outdated, in.Groups[0].Waiting, in.Groups[0].Updated = true, true, false },
			want:   line{"False", "RollingUpdate", "1 of 2 ServingGroups have revision ms-HASH"},
		},
		"a rollout is on, and a finalizer holds a Pod": {
			change: func(s *scene) {
				w := s.pods["ms-1-prefill-0-0"].Terminating(now.Add(-time.Minute))
				w.Finalizers = []string{"theirs.example/hold"}
			},
			input: func(in *Input) { in.Groups[0].Outdated, in.Groups[0].Waiting, in.Groups[0].Updated = true, true, false },
			want:  line{"False", "PodTerminating", `Pod "ms-1-prefill-0-0" hangs in Terminating: it has the finalizers theirs.example/hold; its successor waits for the name`},
		},
		"a Pod whose kubelet does not answer": {
			change: func(s *scene) { s.pods["ms-1-prefill-0-0"].Terminating(now.Add(-time.Minute)) },
			want:   line{"False", "PodTerminating", `Pod "ms-1-prefill-0-0" hangs in Terminating: the kubelet of node "node-0" has not ended it; its successor waits for the name`},
		},
		"a rollout is on, and something is wrong": {
			change: func(s *scene) { s.starting("ms-1-prefill-0-0").Waiting("ErrImagePull", "no such host") },
			input:  func(in *Input) { in.Groups[0].Outdated, in.Groups[0].Waiting, in.Groups[0].Updated = true, true, false },
			want:   line{"False", "ImagePullFailed", `Pod "ms-1-prefill-0-0", container "server": ErrImagePull: no such host`},
		},
		"a paused rollout is no fault": {
			input: func(in *Input) { in.Groups[0].Outdated, in.Groups[0].Waiting, in.Paused = true, true, true },
			want:  line{"True", "AllGroupsAvailable", "2 of 2 ServingGroups are available"},
		},
		"the route is not accepted": {
			input: func(in *Input) {
				in.Route = &metav1.Condition{Type: "RouteReady", Status: "False", Reason: "GatewayNotFound", Message: "Gateway x does not exist"}
			},
			want: line{"False", "RouteNotReady", "GatewayNotFound: Gateway x does not exist"},
		},
		"nothing is wanted and nothing is there": {
			change: func(s *scene) { s.ms.Spec.Replicas = ptr.To[int32](0); clear(s.pods); s.podGroups = nil },
			input:  func(in *Input) { in.Replicas = 0 },
			want:   line{"True", "ScaledToZero", "no ServingGroup is wanted and none is there"},
		},
		"nothing is wanted and something is left": {
			change: func(s *scene) {
				s.ms.Spec.Replicas = ptr.To[int32](0)
				for _, w := range s.pods {
					w.Terminating(now)
				}
			},
			input: func(in *Input) {
				in.Replicas = 0
				for i := range in.Groups {
					in.Groups[i].Kept = false
				}
			},
			want: line{"False", "PodTerminating", `Pod "ms-0-prefill-0-0", which is not wanted any more, is terminating`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			if tc.change != nil {
				tc.change(s)
			}
			in := s.input()
			if tc.input != nil {
				tc.input(&in)
			}
			want := tc.want
			if want.Message == "1 of 2 ServingGroups have revision ms-HASH" {
				want.Message = "1 of 2 ServingGroups have revision " + s.revisions.Update.Name
			}
			if diff := cmp.Diff(want, lineOf(Report(in).Status, workloadv1alpha1.ConditionReady)); diff != "" {
				t.Errorf("Ready (-want +got):\n%s", diff)
			}
		})
	}
}
