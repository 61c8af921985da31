package webhooks_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	gangwaytesting "github.com/gangway-serving/gangway/internal/testing"
)

func TestModelServingRefusedWithAllFaultsAtOnce(t *testing.T) {
	b := theBed(t)
	ns := b.Namespace(t, nil)
	ms := in(ns, quiet("sample"))
	ms.Spec.Template.GangPolicy = &workloadv1alpha1.GangPolicy{MinRoleReplicas: map[string]int32{"prefil": 1, "decode": 3}}
	ms.Spec.Template.Roles[0].WorkerReplicas = 1
	ms.Spec.Template.Roles[1].EntryTemplate.Spec.SchedulerName = "other"
	ms.Spec.GatewayRef = &workloadv1alpha1.GatewayReference{Name: "llm"}

	want := []string{
		"spec.template.gangPolicy.minRoleReplicas[decode]",
		"spec.template.gangPolicy.minRoleReplicas[prefil]",
		"spec.template.roles[0].workerTemplate",
		"spec.template.roles[1].entryTemplate.spec.schedulerName",
		"spec.gatewayRef.sectionName",
		"spec.gatewayRef.host",
	}
	err := b.Client.Create(t.Context(), ms.DeepCopy())
	expectRefused(t, err, want...)
	for _, part := range []string{`denied the request`, `did you mean "prefill"?`, `lower it to 2 or less`} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the message lacks %q: %v", part, err)
		}
	}
	expectRefused(t, b.Client.Create(t.Context(), ms.DeepCopy(), client.DryRunAll), want...)
}

func TestModelServingWarnings(t *testing.T) {
	b := theBed(t)
	ns := b.Namespace(t, nil)
	c, heard := b.listening(t, "")
	ms := in(ns, quiet("sample"))
	if err := c.Create(t.Context(), ms); err != nil {
		t.Fatal(err)
	}
	if got := heard.take(); len(got) > 0 {
		t.Errorf("warned about nothing: %q", got)
	}

	ms.Spec.Replicas = ptr.To[int32](1)
	ms.Spec.Plugins = []workloadv1alpha1.PluginSpec{{Name: "gang"}}
	if err := c.Update(t.Context(), ms, client.DryRunAll); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"spec.replicas: a rollout of a single replica without surge means downtime; set rolloutStrategy.rollingUpdateConfiguration.maxSurge to 1, where capacity allows, or use more replicas, if it must go on serving",
		"spec.plugins: plugins are kept and not acted on; remove them; gangs need no plugin",
	}
	if diff := cmp.Diff(want, heard.take()); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	stored := &workloadv1alpha1.ModelServing{}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(ms), stored); err != nil {
		t.Fatal(err)
	}
	if len(stored.Spec.Plugins) > 0 {
		t.Error("a dry run was stored")
	}
}

func TestScaleSubresource(t *testing.T) {
	b := theBed(t)
	ns := b.Namespace(t, nil)
	ms := in(ns, quiet(strings.Repeat("a", 49))) // one digit is left for the groups
	if err := b.Client.Create(t.Context(), ms); err != nil {
		t.Fatal(err)
	}
	scaleTo := func(n int32, opts ...client.SubResourceUpdateOption) error {
		scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: n}}
		return b.Client.SubResource("scale").Update(t.Context(), ms, append(opts, client.WithSubResourceBody(scale))...)
	}
	if err := scaleTo(10); err != nil {
		t.Errorf("scale to 10: %v", err)
	}
	for _, opts := range [][]client.SubResourceUpdateOption{nil, {client.DryRunAll}} {
		err := scaleTo(11, opts...)
		expectRefused(t, err, "spec.replicas")
		if !strings.Contains(err.Error(), "use at most 10 replicas") {
			t.Errorf("the way out is missing: %v", err)
		}
	}
	if err := scaleTo(0); err != nil {
		t.Errorf("scale to 0: %v", err)
	}
}

// unjudged runs create while no validating webhook is installed, so that objects come into being as
// they did before a rule.
func unjudged(t *testing.T, b *bed, ns string, create func()) {
	t.Helper()
	installed := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	if err := b.Client.Get(t.Context(), client.ObjectKey{Name: "gangway-validating"}, installed); err != nil {
		t.Fatal(err)
	}
	bad := in(ns, quiet("probe"))
	bad.Spec.Template.Roles[0].WorkerReplicas = 1
	judged := func(want bool) {
		eventually(t, func(ctx context.Context) error {
			err := b.Client.Create(ctx, bad.DeepCopy(), client.DryRunAll)
			if apierrors.IsInvalid(err) == want {
				return nil
			}
			return errNotYet
		})
	}
	if err := b.Client.Delete(t.Context(), installed); err != nil {
		t.Fatal(err)
	}
	judged(false)
	create()
	installed.ObjectMeta.ResourceVersion, installed.ObjectMeta.UID = "", ""
	if err := b.Client.Create(t.Context(), installed); err != nil {
		t.Fatal(err)
	}
	judged(true)
}

func TestOldObjectsKeepWorking(t *testing.T) {
	b := theBed(t)
	ns := b.Namespace(t, nil)
	c, heard := b.listening(t, "")

	old := in(ns, quiet("old"))
	old.Finalizers = []string{"example.com/keep"}
	old.Spec.Template.GangPolicy = &workloadv1alpha1.GangPolicy{MinRoleReplicas: map[string]int32{"prefill": 5, "decode": 1}}
	old.Spec.GatewayRef = &workloadv1alpha1.GatewayReference{Name: "gone", SectionName: "http"}
	unjudged(t, b, ns, func() {
		if err := b.Client.Create(t.Context(), old); err != nil {
			t.Fatal(err)
		}
	})
	heard.take()

	old.Labels = map[string]string{"team": "a"}
	if err := c.Update(t.Context(), old); err != nil {
		t.Fatalf("label an old object: %v", err)
	}
	want := []string{
		"spec.template.gangPolicy.minRoleReplicas[prefill]: Invalid value: 5: a gang must not need more replicas of a role than the role has; lower it to 2 or less, or raise spec.template.roles[0].replicas from 2 to 5 (accepted, since the update does not touch it)",
		`spec.gatewayRef.host: Required value: host must be a DNS name in lower case, in which "*." may stand first; give the host name of the model, for example "llm.example.com" (accepted, since the update does not touch it)`,
	}
	if diff := cmp.Diff(want, heard.take()); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	old.Status.Replicas = 1
	if err := c.Status().Update(t.Context(), old); err != nil {
		t.Errorf("write the status of an old object: %v", err)
	}
	old.Spec.Replicas = ptr.To[int32](3)
	if err := c.Update(t.Context(), old); err != nil {
		t.Errorf("scale an old object: %v", err)
	}
	old.Spec.Template.GangPolicy.MinRoleReplicas["prefill"] = 6
	expectRefused(t, c.Update(t.Context(), old.DeepCopy()), "spec.template.gangPolicy.minRoleReplicas[prefill]")

	// A deleted object goes whatever is wrong with it, and with an update that would be refused otherwise.
	if err := c.Delete(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(old), old); err != nil {
		t.Fatal(err)
	}
	old.Finalizers = nil
	old.Spec.Template.GangPolicy.MinRoleReplicas["prefill"] = 7
	if err := c.Update(t.Context(), old); err != nil {
		t.Errorf("remove the finalizer of an object that is being deleted: %v", err)
	}
}

func TestVLLMServiceWebhook(t *testing.T) {
	b := theBed(t)
	ns := b.Namespace(t, nil)
	c, heard := b.listening(t, "")
	v := in(ns, qwen())
	if err := c.Create(t.Context(), v); err != nil {
		t.Fatal(err)
	}
	if got := heard.take(); len(got) > 0 {
		t.Errorf("warned about nothing: %q", got)
	}
	v.Spec.ModelPath = "/elsewhere"
	v.Spec.ExtraArgs = []string{"--max-model-len=1"}
	v.Spec.EngineArgs.GPUMemoryUtilization = "2"
	expectRefused(t, c.Update(t.Context(), v.DeepCopy()), "spec.modelPath", "spec.engineArgs.gpuMemoryUtilization", "spec.extraArgs[0]")

	bad := in(ns, qwen())
	bad.Name = "qwen2.5"
	expectRefused(t, c.Create(t.Context(), bad), "metadata.name")
}

func TestSamplesAreAcceptedQuietly(t *testing.T) {
	b := theBed(t)
	ns := b.Namespace(t, nil)
	c, _ := b.listening(t, "")
	sample := gangwaytesting.Sample().Obj()
	sample.UID, sample.Generation = "", 0
	if err := c.Create(t.Context(), in(ns, sample)); err != nil {
		t.Errorf("the sample is refused: %v", err)
	}
}
