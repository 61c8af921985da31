package apply_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gangway-serving/gangway/controllers/apply"
	"github.com/gangway-serving/gangway/plan/action"
	"github.com/gangway-serving/gangway/plan/names"
	"github.com/gangway-serving/gangway/plan/revision"
)

// revision makes the update revision of the bench's ModelServing, as the planner would.
func (b *bench) revision() *appsv1.ControllerRevision {
	b.Helper()
	rev, create, _, err := revision.Resolve(b.ms, nil)
	b.must(err)
	if !create {
		b.Fatal("there is nothing to create")
	}
	return rev
}

func TestRevisionWhoseNameIsTaken(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*appsv1.ControllerRevision)
		want   string
		labels bool
	}{
		"by itself": {
			change: func(*appsv1.ControllerRevision) {}, labels: true,
		},
		"by itself, which lost its labels": {
			change: func(r *appsv1.ControllerRevision) { r.Labels = map[string]string{"theirs.example/note": "keep"} }, labels: true,
		},
		"by itself in other words": {
			change: func(r *appsv1.ControllerRevision) {
				r.Labels[names.LabelModelServing] = "x"
				r.Data.Raw = append([]byte(`{"later":1,`), r.Data.Raw[1:]...)
			},
			labels: true,
		},
		"by other content of ours": {
			change: func(r *appsv1.ControllerRevision) { r.Labels, r.Data.Raw = nil, []byte(`{"roles":[]}`) },
			want:   `HashCollision ControllerRevision "NAME" is ours and holds other content: the hash is the same`,
		},
		"by one that nobody owns": {
			change: func(r *appsv1.ControllerRevision) { r.OwnerReferences = nil },
			want:   `NameConflict ControllerRevision "NAME" exists already and is not ours: nothing controls it; delete or rename it, or rename what needs the name`,
			labels: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			taken := b.revision()
			taken.Labels["theirs.example/note"] = "keep"
			tc.change(taken)
			owners := taken.OwnerReferences
			b.must(b.client.Create(context.Background(), taken))
			wanted := b.revision()
			result := b.writer.Do(context.Background(), b.ms, apply.Work{Before: create(wanted)})
			got := ""
			for _, f := range result.Faults {
				got += fmt.Sprintf("%s %s", f.Kind, f.Message)
			}
			if diff := cmp.Diff(strings.ReplaceAll(tc.want, "NAME", wanted.Name), got); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
			now, _ := exists(b, wanted)
			labels := map[string]string(nil)
			if tc.labels {
				labels = map[string]string{"theirs.example/note": "keep"}
				for k, v := range wanted.Labels {
					labels[k] = v
				}
			}
			if diff := cmp.Diff(labels, now.Labels); diff != "" {
				t.Errorf("labels (-want +got):\n%s", diff)
			}
			if now.UID != taken.UID || !bytes.Equal(now.Data.Raw, taken.Data.Raw) || len(now.OwnerReferences) != len(owners) {
				t.Errorf("it was changed: %+v", now)
			}
		})
	}
}

func TestWhatIsOptionalHoldsUpNothing(t *testing.T) {
	b := newBench(t)
	rev := b.revision()
	taken := rev.DeepCopy()
	taken.OwnerReferences = nil
	b.must(b.client.Create(context.Background(), taken))
	before := create(rev)
	before[0].Optional = true
	result := b.writer.Do(context.Background(), b.ms, apply.Work{Before: before, Lanes: []action.Lane{lane(create(b.pod(0, 0)))}})
	if len(result.Faults) != 1 || result.Faults[0].Kind != action.NameConflict {
		t.Errorf("faults %v, want a taken name", result.Faults)
	}
	if _, ok := exists(b, client.Object(b.pod(0, 0))); !ok {
		t.Error("the Pod was not created")
	}
	if now, _ := exists(b, rev); metav1.GetControllerOf(now) != nil {
		t.Error("the revision was taken over")
	}
}
