package controllers_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	gangwaytesting "github.com/gangway-serving/gangway/internal/testing"
	"github.com/gangway-serving/gangway/plan/names"
)

// entry is a moment of a write: it goes out, or the API server has carried it out.
type entry struct {
	method   string
	path     string
	object   runtime.Object
	answered bool
}

// diary writes down a manager's writes in order, with what was written.
type diary struct {
	codecs  serializer.CodecFactory
	mu      sync.Mutex
	entries []entry
}

// keepDiary has the manager of a world that is not started yet write down what it writes.
func (w *world) keepDiary() *diary {
	d := &diary{codecs: serializer.NewCodecFactory(w.server.Environment.Scheme)}
	w.config = rest.CopyConfig(w.server.Config)
	w.config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(req *http.Request) (*http.Response, error) {
			if req.Method == http.MethodGet {
				return next.RoundTrip(req)
			}
			e, err := d.read(req)
			if err != nil {
				return nil, err
			}
			d.note(e)
			resp, err := next.RoundTrip(req)
			if err == nil && resp.StatusCode < http.StatusMultipleChoices {
				e.answered = true
				d.note(e)
			}
			return resp, err
		})
	})
	return d
}

func (d *diary) read(req *http.Request) (entry, error) {
	e := entry{method: req.Method, path: req.URL.Path}
	if req.Method == http.MethodDelete || req.Body == nil {
		return e, nil
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return e, err
	}
	req.Body = io.NopCloser(bytes.NewReader(body))
	if e.object, _, err = d.codecs.UniversalDeserializer().Decode(body, nil, nil); err != nil {
		return e, fmt.Errorf("read what %s %s writes: %w", req.Method, req.URL.Path, err)
	}
	return e, nil
}

func (d *diary) note(e entry) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.entries = append(d.entries, e)
}

func (d *diary) all() []entry {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.entries)
}

// remembers says that a status tells of the removal of a Pod.
func remembers(status *workloadv1alpha1.ModelServingStatus, pod *corev1.Pod) bool {
	return slices.ContainsFunc(status.Removals, func(r workloadv1alpha1.RemovalStatus) bool {
		return r.Group == pod.Labels[names.LabelGroup] && !pod.CreationTimestamp.After(r.CreatedUntil.Time) &&
			(r.RoleID == "" || r.RoleID == pod.Labels[names.LabelRoleID]) && (r.Pod == "" || r.Pod == pod.Name)
	})
}

// A manager that dies after its first deletion must leave behind why it began, or the next one takes
// it for somebody else's.
func TestTheStatusTellsOfARemovalBeforeTheFirstDeletion(t *testing.T) {
	t.Parallel()
	byRole := func() *gangwaytesting.ModelServingWrapper {
		return twoRoles(2).Rollout(workloadv1alpha1.RoleRollingUpdate)
	}
	for name, tc := range map[string]struct {
		ms *gangwaytesting.ModelServingWrapper
		// act brings removals about; going are prefixes of the Pods that are to go.
		act   func(*world, *workloadv1alpha1.ModelServing)
		going []string
		// recovery is the unit whose recovery is to be remembered as well.
		recovery *workloadv1alpha1.RecoveryStatus
	}{
		"a rollout of groups": {
			ms:    twoRoles(2),
			act:   func(w *world, ms *workloadv1alpha1.ModelServing) { w.change(ms, setImage(imageNew)) },
			going: []string{"ms-0-", "ms-1-"},
		},
		"a rollout of a role": {
			ms:    byRole(),
			act:   func(w *world, ms *workloadv1alpha1.ModelServing) { w.change(ms, setImage(imageNew, "prefill")) },
			going: []string{"ms-0-prefill-", "ms-1-prefill-"},
		},
		"a recovery of a role replica": {
			ms:       twoRoles(2),
			act:      func(w *world, _ *workloadv1alpha1.ModelServing) { w.kubelet.crash("ms-0-prefill-0-1") },
			going:    []string{"ms-0-prefill-"},
			recovery: &workloadv1alpha1.RecoveryStatus{Group: "ms-0", RoleID: "prefill-0", Count: 1},
		},
		"a recovery of a group": {
			ms:       twoRoles(2).RecoveryPolicy(workloadv1alpha1.RecoverServingGroup),
			act:      func(w *world, _ *workloadv1alpha1.ModelServing) { w.kubelet.crash("ms-0-prefill-0-1") },
			going:    []string{"ms-0-"},
			recovery: &workloadv1alpha1.RecoveryStatus{Group: "ms-0", Count: 1},
		},
		"a replacement of a Pod": {
			ms:       twoRoles(2).RecoveryPolicy(workloadv1alpha1.RecoverNone),
			act:      func(w *world, _ *workloadv1alpha1.ModelServing) { w.kubelet.fail("ms-0-prefill-0-1") },
			going:    []string{"ms-0-prefill-0-1"},
			recovery: &workloadv1alpha1.RecoveryStatus{Group: "ms-0", RoleID: "prefill-0", Count: 1},
		},
		"a group too many": {
			ms: twoRoles(2),
			act: func(w *world, ms *workloadv1alpha1.ModelServing) {
				w.change(ms, func(ms *workloadv1alpha1.ModelServing) { ms.Spec.Replicas = ptr.To[int32](1) })
			},
			going: []string{"ms-1-"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorldOn(t, shared)
			d := w.keepDiary()
			w.start()
			ms := tc.ms.Obj()
			w.create(ms)
			w.available(ms, 2)
			before, began := w.pods(ms), len(d.all())
			tc.act(w, ms)
			going := map[string]bool{}
			for pod := range before {
				if slices.ContainsFunc(tc.going, func(prefix string) bool { return strings.HasPrefix(pod, prefix) }) {
					going[pod] = true
				}
			}
			w.eventually("they are gone", func() error {
				for name, pod := range w.allPods(ms) {
					if going[name] && pod.UID == before[name].UID {
						return fmt.Errorf("%s is there", name)
					}
				}
				return nil
			})

			written, deleted := &workloadv1alpha1.ModelServingStatus{}, map[string]bool{}
			recovered := false
			for _, e := range d.all()[began:] {
				if observed, ok := e.object.(*workloadv1alpha1.ModelServing); ok && e.answered {
					written = &observed.Status
					recovered = recovered || tc.recovery != nil && slices.ContainsFunc(written.Recoveries, func(r workloadv1alpha1.RecoveryStatus) bool {
						return r.Group == tc.recovery.Group && r.RoleID == tc.recovery.RoleID && r.Count == tc.recovery.Count
					})
				}
				pod := before[path.Base(e.path)]
				if e.method != http.MethodDelete || !strings.Contains(e.path, "/pods/") || pod == nil || e.answered {
					continue
				}
				deleted[pod.Name] = true
				if !remembers(written, pod) {
					t.Errorf("Pod %s was deleted when the status told of the removals %+v", pod.Name, written.Removals)
				}
				if recovered == (tc.recovery == nil) {
					t.Errorf("Pod %s was deleted when the status told of the recoveries %+v", pod.Name, written.Recoveries)
				}
			}
			if diff := cmp.Diff(going, deleted); diff != "" {
				t.Errorf("deleted Pods (-want +got):\n%s", diff)
			}
		})
	}
}

// While the API server takes no status, nothing may be deleted for which there would be no memory, and
// nothing may be told that is not so.
func TestNothingIsDeletedOrToldOfWhileTheStatusCannotBeWritten(t *testing.T) {
	t.Parallel()
	w := newWorldOn(t, shared)
	d := w.keepDiary()
	w.start()
	ms := twoRoles(2).Obj()
	w.create(ms)
	w.available(ms, 2)
	before := w.pods(ms)
	lift := w.refuseStatus(ms)
	began := len(d.all())

	w.change(ms, setImage(imageNew))
	w.kubelet.crash("ms-0-prefill-0-1")
	tries := func() (n int) {
		for _, e := range d.all()[began:] {
			if _, ok := e.object.(*workloadv1alpha1.ModelServing); ok {
				n++
			}
		}
		return n
	}
	w.eventually("the status is tried three times", func() error {
		if n := tries(); n < 3 {
			return fmt.Errorf("%d times", n)
		}
		return nil
	})
	w.unchanged(ms, before)
	for _, e := range d.all()[began:] {
		if e.method == http.MethodDelete {
			t.Errorf("%s %s", e.method, e.path)
		}
		// Those of the creation may come late.
		if event, ok := e.object.(*eventsv1.Event); ok && event.Reason != workloadv1alpha1.EventRoleCreating && event.Reason != workloadv1alpha1.EventRoleRunning {
			t.Errorf("Event %s: %s", event.Reason, event.Note)
		}
	}

	lift()
	w.available(ms, 2)
	w.eventEmitted(ms, workloadv1alpha1.EventRolloutCompleted)
}

// refuseStatus has the API server refuse the status of a ModelServing, as it is in force when it
// returns, until the function that it returns is called.
func (w *world) refuseStatus(ms *workloadv1alpha1.ModelServing) (lift func()) {
	w.Helper()
	name := "no-status-in-" + w.ns
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: w.ns}},
				ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
					Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Update},
					Rule: admissionregistrationv1.Rule{
						APIGroups: []string{workloadv1alpha1.GroupName}, APIVersions: []string{"*"}, Resources: []string{"modelservings/status"},
					},
				}}},
			},
			Validations: []admissionregistrationv1.Validation{{Expression: "false", Message: "not now"}},
		},
	}
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: name, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
		},
	}
	for _, obj := range []client.Object{policy, binding} {
		if err := w.client.Create(context.Background(), obj); err != nil {
			w.Fatal(err)
		}
	}
	lift = func() {
		for _, obj := range []client.Object{binding, policy} {
			if err := client.IgnoreNotFound(w.client.Delete(context.Background(), obj)); err != nil {
				w.Error(err)
			}
		}
	}
	w.Cleanup(lift)
	w.eventually("the status is refused", func() error {
		w.get(ms)
		if err := w.client.Status().Update(context.Background(), ms.DeepCopy(), client.DryRunAll); err == nil {
			return fmt.Errorf("it is taken")
		}
		return nil
	})
	return lift
}

// Each Pod finds its gang and the DNS name of its entry when it comes, group by group.
func TestEachGroupsGangAndServicesAreThereBeforeItsPods(t *testing.T) {
	t.Parallel()
	w := newWorldOn(t, shared)
	d := w.keepDiary()
	w.start()
	ms := gangwaytesting.MakeModelServing("ms").Replicas(4).
		Role(gangwaytesting.MakeRole("prefill").Replicas(2).Workers(1).Obj()).
		Role(gangwaytesting.MakeRole("decode").Obj()).Obj()
	w.create(ms)
	w.available(ms, 4)

	there, pods := map[string]bool{}, 0
	for _, e := range d.all() {
		obj, ok := e.object.(client.Object)
		if !ok || e.method != http.MethodPost {
			continue
		}
		kind := path.Base(e.path)
		if e.answered {
			there[kind+"/"+obj.GetName()] = true
			continue
		}
		pod, ok := obj.(*corev1.Pod)
		if !ok {
			continue
		}
		pods++
		group, id := pod.Labels[names.LabelGroup], pod.Labels[names.LabelRoleID]
		needs := []string{"podgroups/" + group}
		if pod.Labels[names.LabelRole] == "prefill" {
			needs = append(needs, "services/"+names.EntryService(group, id))
		}
		for _, need := range needs {
			if !there[need] {
				t.Errorf("Pod %s was written before %s was there", pod.Name, need)
			}
		}
	}
	if pods != 20 {
		t.Errorf("%d Pods were written, want 20", pods)
	}
}
