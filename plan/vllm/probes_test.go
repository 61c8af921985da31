package vllm

import (
	"math"
	"testing"

	"k8s.io/utils/ptr"

	"github.com/gangway-serving/gangway/api/aiinfra/v1alpha1"
)

func TestProgressDeadlineLeavesTheStartupItsBudget(t *testing.T) {
	tests := map[string]struct {
		startup *v1alpha1.Probe
		want    int32
	}{
		"by default: thirty minutes, and ten more": {nil, 2400},
		"the startup probe is turned off":          {&v1alpha1.Probe{Enabled: ptr.To(false)}, 2400},
		"a startup probe with numbers of its own": {
			&v1alpha1.Probe{InitialDelaySeconds: ptr.To[int32](60), PeriodSeconds: ptr.To[int32](30), FailureThreshold: ptr.To[int32](10)}, 960,
		},
		"a startup probe that waits for ever": {
			&v1alpha1.Probe{PeriodSeconds: ptr.To[int32](100_000), FailureThreshold: ptr.To[int32](100_000)}, math.MaxInt32,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			v := &v1alpha1.VLLMService{Spec: v1alpha1.VLLMServiceSpec{StartupProbe: tc.startup}}
			if got := progressDeadlineSeconds(v); got != tc.want {
				t.Errorf("%d seconds, want %d", got, tc.want)
			}
		})
	}
}
