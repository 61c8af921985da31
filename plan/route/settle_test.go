package route

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/gangway-serving/gangway/plan/action"
)

func TestSettleTellsWhatTheAPIServerSaid(t *testing.T) {
	out := Decide(inputOf(func(in *Input) { in.HTTPRoute = nil }))
	create := out.Stages[0][0]
	tests := map[string]struct {
		fault  action.Fault
		reason string
		route  string
	}{
		"the name was taken meanwhile": {
			action.Fault{Action: create, Kind: action.NameConflict, Message: "words"}, "NameConflict", "",
		},
		"the API server refuses": {
			action.Fault{Action: create, Kind: action.Refused, Message: "words"}, "CreateFailed", "",
		},
		"an update was late": {
			action.Fault{Action: action.Action{Verb: action.Update, Object: create.Object}, Kind: action.Transient, Message: "words"},
			"WaitingForGatewayController", "qwen",
		},
		"an update was overruled": {
			action.Fault{Action: action.Action{Verb: action.Update, Object: create.Object}, Kind: action.Overruled, Message: "words"},
			"WaitingForGatewayController", "qwen",
		},
		"another object failed": {
			action.Fault{Action: action.Action{Verb: action.Create, Object: &corev1.Pod{}}, Kind: action.Refused, Message: "words"},
			"WaitingForGatewayController", "qwen",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := out.Settle([]action.Fault{tc.fault})
			if got.Condition.Reason != tc.reason || got.RouteName != tc.route {
				t.Errorf("reason %q and route %q, want %q and %q", got.Condition.Reason, got.RouteName, tc.reason, tc.route)
			}
			if tc.reason != "WaitingForGatewayController" && got.Condition.Message != "words" {
				t.Errorf("message %q, want the API server's words", got.Condition.Message)
			}
		})
	}
}
