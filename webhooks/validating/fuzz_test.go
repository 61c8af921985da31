package validating_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/randfill"

	. "github.com/gangway-serving/gangway/internal/testing"
	"github.com/gangway-serving/gangway/webhooks/validating"
)

// longestMessage bounds what one message may say.
const longestMessage = 3000

// filler makes objects of bytes, as decoding could make them.
func filler(data []byte) *randfill.Filler {
	return randfill.NewFromGoFuzz(data).NilChance(0.3).NumElements(0, 3).MaxDepth(12).Funcs(
		func(q *resource.Quantity, c randfill.Continue) {
			*q = *resource.NewMilliQuantity(c.Int63(), resource.DecimalSI)
		},
		func(v *intstr.IntOrString, c randfill.Continue) {
			if c.Bool() {
				*v = intstr.FromInt32(c.Int31())
			} else {
				*v = intstr.FromString(c.String(0))
			}
		},
		func(v *metav1.Time, c randfill.Continue) { *v = metav1.Unix(c.Int63n(1<<32), 0) },
	)
}

// expectSound holds of every judgement: it says the same again, every fault has a rule, and no
// message is without bounds.
func expectSound(t *testing.T, judge func() (field.ErrorList, []validating.Warning)) {
	t.Helper()
	errs, warnings := judge()
	again, warningsAgain := judge()
	if diff := cmp.Diff(errs, again); diff != "" {
		t.Errorf("the same object is judged differently:\n%s", diff)
	}
	if diff := cmp.Diff(warnings, warningsAgain); diff != "" {
		t.Errorf("the same object is warned of differently:\n%s", diff)
	}
	for _, err := range errs {
		if err.Origin == "" || err.Field == "" || err.Detail == "" || len(err.Error()) > longestMessage {
			t.Errorf("not a message: %#v", err)
		}
	}
	for _, w := range warnings {
		if w.Rule == "" || w.Field == "" || len(w.String()) > 2*longestMessage {
			t.Errorf("not a warning: %#v", w)
		}
	}
}

func FuzzModelServing(f *testing.F) {
	f.Add([]byte("a ModelServing"), int32(3))
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, int32(-1))
	f.Fuzz(func(t *testing.T, data []byte, replicas int32) {
		fill := filler(data)
		ms := Sample().Obj()
		fill.Fill(&ms.Name)
		fill.Fill(&ms.Spec)
		ms.DeletionTimestamp = nil
		s := installed
		fill.Fill(&s.RequireGateway)
		s.Gateway = &gatewayv1.Gateway{}
		fill.Fill(&s.Gateway.Spec)
		original := ms.DeepCopy()

		expectSound(t, func() (field.ErrorList, []validating.Warning) { return validating.ModelServing(ms, s) })
		old := ms.DeepCopy()
		old.Labels = map[string]string{"a": "b"}
		if errs, _ := validating.ModelServingUpdate(ms, old, s); len(errs) > 0 {
			t.Errorf("an update that touches no spec is refused: %v", errs)
		}
		expectSound(t, func() (field.ErrorList, []validating.Warning) {
			return validating.ModelServingUpdate(ms, Sample().Obj(), s)
		})
		expectSound(t, func() (field.ErrorList, []validating.Warning) { return validating.Scale(ms, replicas), nil })
		ms.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
		if errs, warnings := validating.ModelServingUpdate(ms, Sample().Obj(), s); len(errs)+len(warnings) > 0 {
			t.Errorf("an object that is being deleted is judged: %v %v", errs, warnings)
		}
		ms.DeletionTimestamp = nil
		if diff := cmp.Diff(original, ms); diff != "" {
			t.Errorf("judging changes the object:\n%s", diff)
		}
	})
}

func FuzzVLLMService(f *testing.F) {
	f.Add([]byte("a VLLMService"))
	f.Add([]byte{255, 254, 253, 252, 251, 250, 249, 248, 247, 246})
	f.Fuzz(func(t *testing.T, data []byte) {
		fill := filler(data)
		v := qwen()
		fill.Fill(&v.Name)
		fill.Fill(&v.Spec)
		s := installed
		s.Gateway = &gatewayv1.Gateway{}
		fill.Fill(&s.Gateway.Spec)
		original := v.DeepCopy()

		expectSound(t, func() (field.ErrorList, []validating.Warning) { return validating.VLLMService(v, s) })
		old := v.DeepCopy()
		old.Labels = map[string]string{"a": "b"}
		if errs, _ := validating.VLLMServiceUpdate(v, old, s); len(errs) > 0 {
			t.Errorf("an update that touches no spec is refused: %v", errs)
		}
		expectSound(t, func() (field.ErrorList, []validating.Warning) { return validating.VLLMServiceUpdate(v, qwen(), s) })
		if diff := cmp.Diff(original, v); diff != "" {
			t.Errorf("judging changes the object:\n%s", diff)
		}
	})
}

// FuzzGatewayHost holds that a way out that proposes a host proposes one that is accepted.
func FuzzGatewayHost(f *testing.F) {
	for _, host := range []string{"llm.example.com", "https://LLM.example.com:443/v1", "*.a", "10.0.0.1", "[::1]:80", "a..b", "-"} {
		f.Add(host)
	}
	f.Fuzz(func(t *testing.T, host string) {
		judge := func(host string) field.ErrorList {
			ms := quiet("sample").GatewayRef("llm", "http", host).Obj()
			errs, _ := validating.ModelServing(ms, installed)
			return errs
		}
		for _, err := range judge(host) {
			if proposed, ok := proposal(err.Detail); ok {
				if errs := judge(proposed); len(errs) > 0 {
					t.Errorf("%q is proposed for %q, and refused: %v", proposed, host, errs)
				}
			}
		}
	})
}

// proposal reads the host out of a message that says to write it.
func proposal(detail string) (string, bool) {
	_, rest, ok := strings.Cut(detail, "; write ")
	if !ok {
		return "", false
	}
	quoted, err := strconv.QuotedPrefix(rest)
	if err != nil {
		return "", false
	}
	host, err := strconv.Unquote(quoted)
	// A host that is too long to be repeated is cut.
	return host, err == nil && !strings.HasSuffix(host, "...")
}
