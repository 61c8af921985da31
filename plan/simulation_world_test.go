package plan_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/plan/action"
	"github.com/gangway-serving/gangway/plan/gang"
	"github.com/gangway-serving/gangway/plan/names"
	"github.com/gangway-serving/gangway/plan/revision"
	"github.com/gangway-serving/gangway/plan/state"
)

// The simulation is a whole cluster as data. The world is the API server with its nodes; what the
// manager sees of it are caches that lag, one for each kind, each a true state of some past moment.
// Stored objects are never changed in place, so that caches may share them.

// kind is what an API server keeps apart.
type kind string

const (
	modelServings kind = "modelservings"
	pods          kind = "pods"
	services      kind = "services"
	podGroups     kind = "podgroups"
	revisions     kind = "revisions"
)

var kinds = []kind{modelServings, pods, services, podGroups, revisions}

func kindOf(o action.Object) kind {
	switch o.(type) {
	case *workloadv1alpha1.ModelServing:
		return modelServings
	case *corev1.Pod:
		return pods
	case *corev1.Service:
		return services
	case *schedulingv1beta1.PodGroup:
		return podGroups
	case *appsv1.ControllerRevision:
		return revisions
	}
	panic(fmt.Sprintf("the simulated API server does not serve %T", o))
}

// event is one change of a store; a nil object is a removal.
type event struct {
	name string
	obj  action.Object
}

// store is one kind: the objects, and how they came to be so.
type store struct {
	live   map[string]action.Object
	events []event
	// cached is what the manager sees: the state after the first seen events.
	cached map[string]action.Object
	seen   int
	// own is the number of events up to the manager's last write; it reads its own writes.
	own int
}

func newStore() *store {
	return &store{live: map[string]action.Object{}, cached: map[string]action.Object{}}
}

func (s *store) put(o action.Object) {
	s.live[o.GetName()] = o
	s.events = append(s.events, event{o.GetName(), o})
}

func (s *store) remove(name string) {
	delete(s.live, name)
	s.events = append(s.events, event{name: name})
}

// sync lets the cache see up to n events more, and says whether there were any.
func (s *store) sync(n int) bool {
	until := min(s.seen+n, len(s.events))
	moved := until > s.seen
	for ; s.seen < until; s.seen++ {
		e := s.events[s.seen]
		if e.obj == nil {
			delete(s.cached, e.name)
		} else {
			s.cached[e.name] = e.obj
		}
	}
	return moved
}

func (s *store) behind() int { return len(s.events) - s.seen }

// world is the cluster.
type world struct {
	now    time.Time
	stores map[kind]*store
	nodes  map[string]*corev1.Node
	gang   state.GangSupport
	// hung are the UIDs of Pods whose kubelet does not end them.
	hung map[types.UID]bool

	lastUID, lastVersion int
	// wrong are the role replicas, as "group/id", in which something failed since they were made, and
	// the groups in which something failed since they were whole.
	wrong map[string]bool
	// everReady are the UIDs of the Pods that have been Ready.
	everReady map[types.UID]bool
	// quota is how many Pods there may be; 0 for any number.
	quota int
	// removed is the revision that somebody deleted.
	removed *appsv1.ControllerRevision
	// calm: nothing has failed so far, neither a Pod nor a write.
	calm bool
	// templates caches decoded revisions by hash.
	templates map[string]versionedTemplate

	manager *manager
	// planned is the ModelServing of the last pass.
	planned   *workloadv1alpha1.ModelServing
	accounts  map[int]*account
	decisions map[string]decision
	violation error
	// still: coming to rest takes no time; what the manager wants to be woken for later is not awaited.
	still bool
	// log, began, wrote and passed tell a run to those who read it.
	log    func(format string, args ...any)
	began  func(*pass)
	wrote  func(action.Action)
	passed func()
}

const (
	namespace = "default"
	theName   = "m"
	nodeCount = 3
)

func newWorld(ms *workloadv1alpha1.ModelServing, support state.GangSupport) *world {
	w := &world{
		now:       time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		stores:    map[kind]*store{},
		nodes:     map[string]*corev1.Node{},
		gang:      support,
		hung:      map[types.UID]bool{},
		calm:      true,
		wrong:     map[string]bool{},
		everReady: map[types.UID]bool{},
		templates: map[string]versionedTemplate{},
		accounts:  map[int]*account{},
		log:       func(string, ...any) {},
		began:     func(*pass) {},
		wrote:     func(action.Action) {},
		passed:    func() {},
	}
	for _, k := range kinds {
		w.stores[k] = newStore()
	}
	for i := range nodeCount {
		name := "node-" + strconv.Itoa(i)
		w.nodes[name] = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	}
	ms.UID = ""
	w.admit(ms)
	w.manager = newManager(w)
	return w
}

// violate records the first broken invariant.
func (w *world) violate(format string, args ...any) {
	if w.violation == nil {
		w.violation = fmt.Errorf(format, args...)
	}
}

// second is the time as the API has it.
func (w *world) second() metav1.Time { return metav1.NewTime(w.now.Truncate(time.Second)) }

func (w *world) modelServing() *workloadv1alpha1.ModelServing {
	return w.stores[modelServings].live[theName].(*workloadv1alpha1.ModelServing)
}

func (w *world) pod(name string) *corev1.Pod {
	p, _ := w.stores[pods].live[name].(*corev1.Pod)
	return p
}

// ours are the live Pods that the ModelServing controls, by name.
func (w *world) ours() []*corev1.Pod {
	live := w.stores[pods].live
	uid := w.modelServing().UID
	out := make([]*corev1.Pod, 0, len(live))
	for _, name := range slices.Sorted(maps.Keys(live)) {
		if p := live[name].(*corev1.Pod); controlledBy(p, uid) {
			out = append(out, p)
		}
	}
	return out
}

func controlledBy(o metav1.Object, uid types.UID) bool {
	ref := metav1.GetControllerOfNoCopy(o)
	return ref != nil && ref.UID == uid
}

// admit stores a new object, as the API server does.
func (w *world) admit(o action.Object) {
	w.lastUID++
	o.SetUID(types.UID("uid-" + strconv.Itoa(w.lastUID)))
	o.SetCreationTimestamp(w.second())
	o.SetNamespace(namespace)
	if o.GetGeneration() == 0 {
		o.SetGeneration(1)
	}
	w.store(o)
}

func (w *world) store(o action.Object) {
	w.lastVersion++
	o.SetResourceVersion(strconv.Itoa(w.lastVersion))
	w.stores[kindOf(o)].put(o)
}

// edit changes a stored object the way somebody other than the manager does.
func edit[T action.Object](w *world, o T, change func(T)) {
	c := o.DeepCopyObject().(T)
	change(c)
	w.store(c)
}

// answer is what the API server says to a write.
type answer struct {
	kind    action.FaultKind
	message string
}

var done answer

// write carries out a manager's action as controllers/apply does against an API server.
func (w *world) write(a action.Action) answer {
	k, name := kindOf(a.Object), a.Object.GetName()
	s := w.stores[k]
	uid := w.manager.pass.snapshot.ModelServing.UID
	if !controlledBy(a.Object, uid) {
		w.violate("%s %s %s, which the ModelServing does not control", a.Verb, k, name)
	}
	current := s.live[name]
	defer func() { s.own = len(s.events) }()
	switch a.Verb {
	case action.Create:
		switch {
		case k == pods && current == nil && w.quota > 0 && len(s.live) >= w.quota:
			return answer{action.QuotaExceeded, fmt.Sprintf("pods %q is forbidden: exceeded quota: pods", name)}
		case current == nil:
			w.create(k, a.Object.DeepCopyObject().(action.Object))
		case current.GetDeletionTimestamp() != nil:
			return answer{action.Transient, fmt.Sprintf("%s %q is still terminating", k, name)}
		case !controlledBy(current, uid):
			return answer{action.NameConflict, fmt.Sprintf("%s %q exists already and is not ours", k, name)}
		case k == revisions:
			return w.existingRevision(current.(*appsv1.ControllerRevision), a.Object.(*appsv1.ControllerRevision))
		}
	case action.Update:
		switch {
		case current == nil:
			return answer{action.Transient, fmt.Sprintf("%s %q not found", k, name)}
		case current.GetResourceVersion() != a.Object.GetResourceVersion():
			return answer{action.Transient, fmt.Sprintf("%s %q: the object has been modified", k, name)}
		}
		w.store(a.Object.DeepCopyObject().(action.Object))
	case action.Delete, action.ForceDelete:
		if current == nil || current.GetUID() != a.Object.GetUID() {
			return done
		}
		if uid == w.modelServing().UID {
			w.checkDelete(k, current, a)
		}
		w.delete(k, current, a.Verb == action.ForceDelete)
	default:
		w.violate("there is no verb %q", a.Verb)
	}
	return done
}

func (w *world) create(k kind, o action.Object) {
	if pod, ok := o.(*corev1.Pod); ok {
		if controlledBy(pod, w.modelServing().UID) {
			w.checkCreatePod(pod)
		}
		w.inject(pod)
		pod.Status.Phase = corev1.PodPending
	}
	if k == podGroups {
		if controlledBy(o, w.modelServing().UID) {
			w.checkCreatePodGroup(o)
		}
		w.manager.pass.made[o.GetName()] = true
	}
	w.admit(o)
}

// inject is the Pod webhook.
func (w *world) inject(pod *corev1.Pod) {
	for _, key := range names.ReservedLabels() {
		metav1.SetMetaDataAnnotation(&pod.ObjectMeta, bornWith+key, pod.Labels[key])
	}
	ms := w.modelServing()
	pod.Spec.SchedulerName = ms.Spec.SchedulerName
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, names.AnnotationGroupName, born(pod, names.LabelGroup))
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, names.AnnotationTaskSpec, born(pod, names.LabelRole))
}

// delete begins or ends an object's life. A Pod that runs on a node ends when its kubelet says so.
func (w *world) delete(k kind, o action.Object, force bool) {
	pod, isPod := o.(*corev1.Pod)
	ended := isPod && (pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded)
	if !isPod || force || pod.Spec.NodeName == "" || ended {
		w.stores[k].remove(o.GetName())
		return
	}
	if o.GetDeletionTimestamp() != nil {
		return
	}
	edit(w, pod, func(p *corev1.Pod) {
		seconds := int64(30)
		p.DeletionTimestamp = &metav1.Time{Time: w.second().Add(30 * time.Second)}
		p.DeletionGracePeriodSeconds = &seconds
	})
}

// template decodes the revision with that hash.
func (w *world) template(hash string) (revision.Template, bool) {
	rev, ok := w.stores[revisions].live[names.Revision(theName, hash)].(*appsv1.ControllerRevision)
	if !ok {
		// Gone, or its owner is: what was once read is still so.
		known, ok := w.templates[hash]
		return known.Template, ok
	}
	if known, ok := w.templates[hash]; ok && known.version == rev.ResourceVersion {
		return known.Template, true
	}
	t, err := revision.Decode(rev)
	if err != nil {
		w.violate("%v", err)
		return revision.Template{}, false
	}
	w.templates[hash] = versionedTemplate{t, rev.ResourceVersion}
	return t, true
}

// versionedTemplate is a decoded revision, as of a resourceVersion.
type versionedTemplate struct {
	revision.Template
	version string
}

func (w *world) gangWanted() bool { return gang.Wanted(w.modelServing(), w.gang) }

// ordinals of a Pod of ours.
func groupOf(p *corev1.Pod) int {
	g, ok := names.GroupOrdinal(theName, born(p, names.LabelGroup))
	if !ok {
		panic("no group: " + p.Name)
	}
	return g
}

func replicaOf(p *corev1.Pod) int {
	r, ok := names.RoleReplicaOrdinal(born(p, names.LabelRole), born(p, names.LabelRoleID))
	if !ok {
		panic("no role replica: " + p.Name)
	}
	return r
}

func ready(p *corev1.Pod) bool {
	if p.DeletionTimestamp != nil {
		return false
	}
	for i := range p.Status.Conditions {
		if p.Status.Conditions[i].Type == corev1.PodReady {
			return p.Status.Conditions[i].Status == corev1.ConditionTrue
		}
	}
	return false
}

func broken(p *corev1.Pod) bool {
	return strings.Contains(p.Spec.Containers[0].Image, "broken")
}
