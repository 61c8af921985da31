package plan_test

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	gangwaytesting "github.com/gangway-serving/gangway/internal/testing"
	"github.com/gangway-serving/gangway/plan/action"
	"github.com/gangway-serving/gangway/plan/names"
	"github.com/gangway-serving/gangway/plan/state"
)

// A script is a header line and steps, one a line, in words. Nothing in a step is random: equal
// scripts make equal runs. A step that does not apply (a Pod that is not there) does nothing, so
// that steps can be taken out of a script.
//
//	cluster volcano=new type=group replicas=3 recovery=RoleRecreate grace=0 maxUnavailable=1 roles=prefill:2:1,decode:1:0
//	pass                        the manager starts a pass, unless one is under way
//	do N [transient|quota|lost] the N-th of the writes that may be next; lost: done, unanswered
//	crash                       the manager is killed, and the next one starts
//	sync KIND [N]               a cache sees N events more, or all
//	tick DURATION
//	quota N                     from now on there may be N Pods, 0 for any number
//	start|ready|unready|restart|fail|stuck|hang|unhang|gone|delete POD
//	label POD KEY VALUE         somebody edits one of our labels; "-" takes it away
//	revision remove|unlabel|disown|terminate  what somebody does to the update revision by hand
//	remove podgroup|service NAME, foreign POD, unforeign POD, cost POD N
//	lose|cut|join NODE          the node vanishes, is unreachable, comes back
//	volcano old|new, recreate, collect
//	set image ROLE TAG, set replicas N, set roleReplicas ROLE N, set workers ROLE N, set minimum ROLE N,
//	set partition|maxUnavailable|maxSurge V, set rolePartition|roleMaxUnavailable ROLE V,
//	set paused BOOL, set recovery POLICY, set grace S, set role NAME REPLICAS WORKERS, set norole NAME
func (w *world) step(line string) {
	f := strings.Fields(line)
	switch f[0] {
	case "pass":
		w.manager.begin()
	case "do":
		how := ""
		if len(f) > 2 {
			how = f[2]
			w.calm = false
		}
		if w.manager.pass != nil {
			w.manager.do(number(f[1]), how)
		}
	case "crash":
		w.manager = newManager(w)
	case "sync":
		s := w.stores[kind(f[1])]
		n := s.behind()
		if len(f) > 2 {
			n = number(f[2])
		}
		if s.sync(n) {
			w.manager.wake()
		}
	case "tick":
		d, err := time.ParseDuration(f[1])
		if err != nil {
			panic(err)
		}
		w.now = w.now.Add(d)
	case "quota":
		w.quota = number(f[1])
		w.manager.wake() // Its back-off tries again.
	case "remove":
		w.remove(f[1], f[2])
	case "revision":
		w.spoil(f[1])
	case "lose", "cut", "join":
		w.node(f[0], f[1])
	case "volcano":
		w.gang = support(f[1])
		w.manager.wake()
	case "recreate":
		w.recreate()
	case "collect":
		w.collect()
	case "set":
		w.restoreRevisions()
		if f[1] == "replicas" {
			for _, a := range w.accounts {
				a.mayGo = a.mayGo || number(f[2]) < int(*w.modelServing().Spec.Replicas)
			}
		}
		edit(w, w.modelServing(), func(ms *workloadv1alpha1.ModelServing) {
			set(ms, f[1:])
			ms.Generation++
		})
	default:
		w.onPod(f)
	}
	if f[0] != "do" && f[0] != "pass" {
		w.account(cause(f[0]))
	}
}

// cause is whose a change of availability is that a step brought.
func cause(verb string) string {
	switch verb {
	case "set", "recreate":
		return "user"
	}
	return "fault"
}

func (w *world) onPod(f []string) {
	if f[0] == "foreign" {
		if w.stores[pods].live[f[1]] == nil {
			w.admit(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: f[1]}})
		}
		return
	}
	pod := w.pod(f[1])
	if pod == nil {
		return
	}
	if f[0] == "unforeign" {
		if !controlledBy(pod, w.modelServing().UID) {
			w.stores[pods].remove(pod.Name)
		}
		return
	}
	if !controlledBy(pod, w.modelServing().UID) {
		return
	}
	if f[0] == "cost" {
		w.calm = false
		edit(w, pod, func(p *corev1.Pod) { metav1.SetMetaDataAnnotation(&p.ObjectMeta, corev1.PodDeletionCost, f[2]) })
		return
	}
	if f[0] == "label" {
		w.relabel(pod, f[2], f[3])
		return
	}
	w.kubelet(f[0], pod)
}

// kubelet plays the scheduler and the node of a Pod, and those who delete Pods by hand.
func (w *world) kubelet(verb string, pod *corev1.Pod) {
	terminating, failed := pod.DeletionTimestamp != nil, pod.Status.Phase == corev1.PodFailed
	running := pod.Status.Phase == corev1.PodRunning
	change := func(f func(*gangwaytesting.PodWrapper)) {
		w.now = w.now.Add(time.Second)
		edit(w, pod, func(p *corev1.Pod) {
			wrapped := &gangwaytesting.PodWrapper{Pod: *p}
			f(wrapped)
			*p = wrapped.Pod
		})
	}
	t := func() time.Time { return w.second().Time }
	if verb != "start" && verb != "ready" && verb != "gone" {
		w.calm = false
		w.hurt(pod)
	}
	switch verb {
	case "start":
		if pod.Status.Phase == corev1.PodPending && !terminating && pod.Spec.NodeName == "" && w.gangIsThere(pod) {
			change(func(p *gangwaytesting.PodWrapper) {
				p.Scheduled(t(), w.place(pod.Name))
				if broken(pod) {
					p.Waiting("ImagePullBackOff", "Back-off pulling image")
					return
				}
				p.Starting(t())
			})
		}
	case "ready":
		if running && !terminating && !ready(pod) && w.reachable(pod) {
			change(func(p *gangwaytesting.PodWrapper) { p.Ready(t()) })
			w.everReady[pod.UID] = true
		}
	case "unready":
		if running && !terminating && ready(pod) {
			// Within some seconds it cannot be told from a restart that it follows.
			w.goesWrong(pod, slices.ContainsFunc(pod.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool { return c.RestartCount > 0 }))
			change(func(p *gangwaytesting.PodWrapper) { p.NotReady(t()) })
		}
	case "restart":
		if running && !terminating {
			w.goesWrong(pod, w.everReady[pod.UID])
			change(func(p *gangwaytesting.PodWrapper) { p.Restarted(t()) })
		}
	case "stuck":
		if running && !terminating {
			w.goesWrong(pod, w.everReady[pod.UID])
			change(func(p *gangwaytesting.PodWrapper) {
				p.Restarted(t())
				p.Waiting("CrashLoopBackOff", "back-off 5m0s restarting failed container")
			})
		}
	case "fail":
		if !terminating && !failed && pod.Spec.NodeName != "" {
			w.goesWrong(pod, true)
			change(func(p *gangwaytesting.PodWrapper) { p.Failed(t(), "Evicted", "The node was low on resource: memory.") })
		}
	case "hang":
		w.hung[pod.UID] = true
	case "unhang":
		delete(w.hung, pod.UID)
	case "gone":
		if terminating && !w.hung[pod.UID] && w.reachable(pod) {
			w.stores[pods].remove(pod.Name)
		}
	case "delete":
		w.goesWrong(pod, true)
		w.delete(pods, pod, false)
	default:
		panic("no such step: " + verb)
	}
}

// gangIsThere says that a gang has as many Pods as it needs, so that Volcano places them.
func (w *world) gangIsThere(pod *corev1.Pod) bool {
	group := born(pod, names.LabelGroup)
	pg, ok := w.stores[podGroups].live[group].(*schedulingv1beta1.PodGroup)
	if !ok || !w.gangWanted() {
		return true
	}
	n := int32(0)
	for _, p := range w.ours() {
		if born(p, names.LabelGroup) == group && p.DeletionTimestamp == nil {
			n++
		}
	}
	return n >= pg.Spec.MinMember
}

// place finds a node for a Pod, always the same one if it is there.
func (w *world) place(pod string) string {
	for i := range nodeCount {
		name := "node-" + strconv.Itoa((len(pod)+int(pod[len(pod)-1])+int(pod[2])+i)%nodeCount)
		if w.nodes[name] != nil && len(w.nodes[name].Spec.Taints) == 0 {
			return name
		}
	}
	return "node-none"
}

func (w *world) reachable(pod *corev1.Pod) bool {
	n := w.nodes[pod.Spec.NodeName]
	return pod.Spec.NodeName == "node-none" || (n != nil && len(n.Spec.Taints) == 0)
}

func (w *world) node(verb, name string) {
	w.calm = false
	n := w.nodes[name]
	switch {
	case verb == "lose":
		delete(w.nodes, name)
	case verb == "join" && (n == nil || len(n.Spec.Taints) > 0):
		w.nodes[name] = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	case verb == "cut" && n != nil && len(n.Spec.Taints) == 0:
		c := n.DeepCopy()
		c.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute, TimeAdded: ptr.To(w.second())}}
		c.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionUnknown, LastTransitionTime: w.second()}}
		w.nodes[name] = c
		for _, p := range w.ours() {
			if p.Spec.NodeName == name && ready(p) {
				w.kubelet("unready", p)
			}
		}
	}
	w.manager.wake()
}

func (w *world) remove(what, name string) {
	k := map[string]kind{"podgroup": podGroups, "service": services}[what]
	if o := w.stores[k].live[name]; o != nil {
		w.calm = false
		w.stores[k].remove(name)
	}
}

// recreate deletes the ModelServing and makes one of the same name; the children of the old one
// stay until the garbage collector comes.
func (w *world) recreate() {
	old := w.modelServing()
	w.calm = false
	fresh := old.DeepCopy()
	fresh.Status = workloadv1alpha1.ModelServingStatus{}
	fresh.Generation = 1
	w.stores[modelServings].remove(theName)
	w.admit(fresh)
	w.accounts = map[int]*account{}
	w.wrong = map[string]bool{}
	w.templates = map[string]versionedTemplate{}
}

// collect is the garbage collector: children of a ModelServing that is gone go.
func (w *world) collect() {
	uid := w.modelServing().UID
	for _, k := range []kind{pods, services, podGroups, revisions} {
		var gone []action.Object
		for _, name := range slices.Sorted(maps.Keys(w.stores[k].live)) {
			o := w.stores[k].live[name]
			if metav1.GetControllerOfNoCopy(o) != nil && !controlledBy(o, uid) {
				gone = append(gone, o)
			}
		}
		for _, o := range gone {
			w.delete(k, o, true)
		}
	}
}

func support(volcano string) state.GangSupport {
	return state.GangSupport{PodGroups: volcano != "none", SubGroups: volcano == "new"}
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(err)
	}
	return n
}
