package revision_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	gangwaytesting "github.com/gangway-serving/gangway/internal/testing"
	"github.com/gangway-serving/gangway/plan/names"
	"github.com/gangway-serving/gangway/plan/revision"
)

func withImage(image string) *workloadv1alpha1.ModelServing {
	return gangwaytesting.MakeModelServing("m").
		Role(gangwaytesting.MakeRole("r").Replicas(2).Image(image).Obj()).Obj()
}

func TestResolveMakesTheFirstRevision(t *testing.T) {
	ms := withImage("i:1")
	got, create, count, err := revision.Resolve(ms, nil)
	if err != nil {
		t.Fatal(err)
	}
	h := hash(t, revision.Of(ms))
	want := &appsv1.ControllerRevision{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "ControllerRevision"},
		ObjectMeta: metav1.ObjectMeta{
			Name:        "m-" + h,
			Namespace:   "default",
			Labels:      map[string]string{names.LabelModelServing: "m", names.LabelRevision: h},
			Annotations: map[string]string{"gangway.dev/role-replicas": `{"r":2}`},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "workload.serving.volcano.sh/v1alpha1", Kind: "ModelServing",
				Name: "m", UID: "m-uid", Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true),
			}},
		},
		Data: runtime.RawExtension{Raw: []byte(
			`{"roles":[{"entryTemplate":{"spec":{"containers":[{"image":"i:1","name":"server"}]}},"name":"r"}],"schedulerName":"volcano"}`)},
		Revision: 1,
	}
	if !create || count != nil {
		t.Errorf("create = %v, collisionCount = %v; want true, nil", create, count)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("revision (-want +got):\n%s", diff)
	}
}

func TestResolve(t *testing.T) {
	first := stored(t, withImage("i:1"), nil)
	second := stored(t, withImage("i:2"), []*appsv1.ControllerRevision{first})

	collided := second.DeepCopy()
	collided.Data.Raw = []byte(`{"roles":[]}`)

	older := first.DeepCopy()
	older.Data.Raw = []byte(`{"schedulerName":"volcano","roles":[{"name":"r","workerReplicas":0,"entryTemplate":{"metadata":{},"spec":{"containers":[{"name":"server","image":"i:1","resources":{}}]}}}]}`)
	older.Labels = map[string]string{names.LabelModelServing: "m", names.LabelRevision: "oldhash"}
	older.Name = "m-oldhash"

	newer := older.DeepCopy()
	newer.Name, newer.Labels[names.LabelRevision], newer.Revision = "m-newer", "newer", 2

	going := first.DeepCopy()
	going.DeletionTimestamp = ptr.To(metav1.Now())
	goingNewer := newer.DeepCopy()
	goingNewer.DeletionTimestamp = ptr.To(metav1.Now())

	scaled := withImage("i:1")
	scaled.Spec.Template.Roles[0].Replicas = ptr.To[int32](5)

	inUse := withImage("i:1")
	inUse.Status.UpdateRevision = "m-oldhash"

	counted := withImage("i:3")
	counted.Status.CollisionCount = ptr.To[int32](4)

	type answer struct {
		Name     string
		Hash     string
		Number   int64
		Replicas string
		Create   bool
		// Copied: what is returned is not the very object that is owned.
		Copied bool
		Count  *int32
	}
	name := func(ms *workloadv1alpha1.ModelServing, count *int32) (string, string) {
		h := revision.Hash(content(t, revision.Of(ms)), count)
		return "m-" + h, h
	}
	name1, hash1 := name(withImage("i:1"), nil)
	name2, hash2 := name(withImage("i:2"), nil)
	name2b, hash2b := name(withImage("i:2"), ptr.To[int32](1))
	name3, hash3 := name(withImage("i:3"), ptr.To[int32](4))

	cases := map[string]struct {
		ms    *workloadv1alpha1.ModelServing
		owned []*appsv1.ControllerRevision
		want  answer
	}{
		"nothing changed: the very object": {
			withImage("i:2"),
			[]*appsv1.ControllerRevision{first, second},
			answer{Name: name2, Hash: hash2, Number: 2, Replicas: `{"r":2}`},
		},
		"a new image makes a new revision with the next number": {
			withImage("i:2"),
			[]*appsv1.ControllerRevision{first},
			answer{Name: name2, Hash: hash2, Number: 2, Replicas: `{"r":2}`, Create: true, Copied: true},
		},
		"a rollback makes the old revision the newest": {
			withImage("i:1"),
			[]*appsv1.ControllerRevision{second, first},
			answer{Name: name1, Hash: hash1, Number: 3, Replicas: `{"r":2}`, Copied: true},
		},
		"other role replicas are remembered, under the same number": {
			scaled,
			[]*appsv1.ControllerRevision{first},
			answer{Name: name1, Hash: hash1, Number: 1, Replicas: `{"r":5}`, Copied: true},
		},
		"a hash that is taken by other content gets a collision count": {
			withImage("i:2"),
			[]*appsv1.ControllerRevision{first, collided},
			answer{Name: name2b, Hash: hash2b, Number: 3, Replicas: `{"r":2}`, Create: true, Copied: true, Count: ptr.To[int32](1)},
		},
		"a collision count of the status is used": {
			counted,
			[]*appsv1.ControllerRevision{first},
			answer{Name: name3, Hash: hash3, Number: 2, Replicas: `{"r":2}`, Create: true, Copied: true, Count: ptr.To[int32](4)},
		},
		"what an older Gangway wrote, with other bytes and another hash, is kept": {
			withImage("i:1"),
			[]*appsv1.ControllerRevision{older},
			answer{Name: "m-oldhash", Hash: "oldhash", Number: 1, Replicas: `{"r":2}`},
		},
		"of two that mean the same, the newest is the one": {
			withImage("i:1"),
			[]*appsv1.ControllerRevision{newer, older},
			answer{Name: "m-newer", Hash: "newer", Number: 2, Replicas: `{"r":2}`},
		},
		"of two that mean the same, the one in use is the one, though it is the older": {
			inUse,
			[]*appsv1.ControllerRevision{newer, older},
			answer{Name: "m-oldhash", Hash: "oldhash", Number: 3, Replicas: `{"r":2}`, Copied: true},
		},
		"a revision that is being deleted serves until it is gone": {
			withImage("i:1"),
			[]*appsv1.ControllerRevision{going},
			answer{Name: name1, Hash: hash1, Number: 1, Replicas: `{"r":2}`},
		},
		"one that stays goes before one that is being deleted": {
			withImage("i:1"),
			[]*appsv1.ControllerRevision{older, goingNewer},
			answer{Name: "m-oldhash", Hash: "oldhash", Number: 3, Replicas: `{"r":2}`, Copied: true},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			before := make([]*appsv1.ControllerRevision, len(tc.owned))
			for i := range tc.owned {
				before[i] = tc.owned[i].DeepCopy()
			}
			rev, create, count, err := revision.Resolve(tc.ms, tc.owned)
			if err != nil {
				t.Fatal(err)
			}
			got := answer{
				Name: rev.Name, Hash: rev.Labels[names.LabelRevision], Number: rev.Revision,
				Replicas: rev.Annotations["gangway.dev/role-replicas"], Create: create, Copied: true, Count: count,
			}
			for _, o := range tc.owned {
				if o == rev {
					got.Copied = false
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, tc.owned, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("what is owned was changed (-before +after):\n%s", diff)
			}
			for _, o := range tc.owned {
				if o.Name == rev.Name && !bytes.Equal(o.Data.Raw, rev.Data.Raw) {
					t.Errorf("data of %s changed", o.Name)
				}
			}
		})
	}
}
