package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/plan/names"
)

// eventually waits until check gives "", which otherwise says what is still missing.
func eventually(t *testing.T, within time.Duration, check func(context.Context) string) {
	t.Helper()
	var last string
	err := wait.PollUntilContextTimeout(t.Context(), tick, within, true, func(ctx context.Context) (bool, error) {
		last = check(ctx)
		return last == "", nil
	})
	if err != nil {
		t.Fatalf("after %s: %s", within, last)
	}
}

// throughout fails as soon as check gives anything but "" within the time. What a check says when
// the time ran out in the middle of it does not count.
func throughout(t *testing.T, span time.Duration, check func(context.Context) string) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), tick, span, true, func(ctx context.Context) (bool, error) {
		if broken := check(ctx); broken != "" && ctx.Err() == nil && !strings.Contains(broken, "would exceed context deadline") {
			return false, errors.New(broken)
		}
		return false, nil
	})
	if !wait.Interrupted(err) {
		t.Fatal(err)
	}
}

func create(t *testing.T, objects ...client.Object) {
	t.Helper()
	for _, o := range objects {
		if err := k8s.Create(t.Context(), o); err != nil {
			t.Fatalf("create %T %q: %v", o, o.GetName(), err)
		}
	}
}

// edit changes a ModelServing's spec, again on conflict.
func edit(t *testing.T, ms *workloadv1alpha1.ModelServing, change func(*workloadv1alpha1.ModelServing)) {
	t.Helper()
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		if err := k8s.Get(t.Context(), client.ObjectKeyFromObject(ms), ms); err != nil {
			return err
		}
		change(ms)
		return k8s.Update(t.Context(), ms)
	})
	if err != nil {
		t.Fatalf("update ModelServing %q: %v", ms.Name, err)
	}
}

// annotate sets annotations on an object, for kwok's stages.
func annotate(t *testing.T, o client.Object, annotations map[string]string) {
	t.Helper()
	before := o.DeepCopyObject().(client.Object)
	all := o.GetAnnotations()
	if all == nil {
		all = map[string]string{}
	}
	for k, v := range annotations {
		all[k] = v
	}
	o.SetAnnotations(all)
	if err := k8s.Patch(t.Context(), o, client.MergeFrom(before)); err != nil {
		t.Fatalf("annotate %T %q: %v", o, o.GetName(), err)
	}
}

// pods lists the Pods of a ModelServing, or of a part of it, by name.
func pods(ctx context.Context, ms *workloadv1alpha1.ModelServing, labels map[string]string) ([]corev1.Pod, error) {
	var list corev1.PodList
	match := client.MatchingLabels{names.LabelModelServing: ms.Name}
	for k, v := range labels {
		match[k] = v
	}
	if err := k8s.List(ctx, &list, client.InNamespace(ms.Namespace), match); err != nil {
		return nil, fmt.Errorf("list the Pods of %q: %w", ms.Name, err)
	}
	slices.SortFunc(list.Items, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return list.Items, nil
}

func mustPods(t *testing.T, ms *workloadv1alpha1.ModelServing, labels map[string]string) []corev1.Pod {
	t.Helper()
	list, err := pods(t.Context(), ms, labels)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func uids(list []corev1.Pod) map[string]types.UID {
	m := map[string]types.UID{}
	for _, p := range list {
		m[p.Name] = p.UID
	}
	return m
}

func podReady(p *corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue && p.DeletionTimestamp == nil
		}
	}
	return false
}

// condition says what is missing until the condition has that status and, unless it is "", reason.
func condition(ctx context.Context, ms *workloadv1alpha1.ModelServing, kind string, status metav1.ConditionStatus, reason string) string {
	if err := k8s.Get(ctx, client.ObjectKeyFromObject(ms), ms); err != nil {
		return err.Error()
	}
	if ms.Status.ObservedGeneration != ms.Generation {
		return fmt.Sprintf("status of generation %d, want %d", ms.Status.ObservedGeneration, ms.Generation)
	}
	c := meta.FindStatusCondition(ms.Status.Conditions, kind)
	if c == nil {
		return "no condition " + kind
	}
	if c.Status != status || (reason != "" && c.Reason != reason) {
		return fmt.Sprintf("%s is %s (%s: %s), want %s %s", kind, c.Status, c.Reason, c.Message, status, reason)
	}
	return ""
}

func waitCondition(t *testing.T, ms *workloadv1alpha1.ModelServing, kind string, status metav1.ConditionStatus, reason string) {
	t.Helper()
	eventually(t, timeout, func(ctx context.Context) string { return condition(ctx, ms, kind, status, reason) })
}

func waitReady(t *testing.T, ms *workloadv1alpha1.ModelServing) {
	t.Helper()
	waitCondition(t, ms, workloadv1alpha1.ConditionReady, metav1.ConditionTrue, "")
}

// waitRolledOut waits until every group is at the update revision and available.
func waitRolledOut(t *testing.T, ms *workloadv1alpha1.ModelServing) {
	t.Helper()
	eventually(t, 2*timeout, func(ctx context.Context) string {
		if missing := condition(ctx, ms, workloadv1alpha1.ConditionUpdateInProgress, metav1.ConditionFalse, ""); missing != "" {
			return missing
		}
		return condition(ctx, ms, workloadv1alpha1.ConditionReady, metav1.ConditionTrue, "")
	})
}

// objects gives the items of a list.
func objects(t *testing.T, list client.ObjectList) []client.Object {
	t.Helper()
	items, err := meta.ExtractList(list)
	if err != nil {
		t.Fatal(err)
	}
	out := make([]client.Object, 0, len(items))
	for _, item := range items {
		out = append(out, item.(client.Object))
	}
	return out
}

// waitGone waits until no object of the kind of list that the ModelServing owned is left.
func waitGone(t *testing.T, namespace string, lists ...client.ObjectList) {
	t.Helper()
	for _, list := range lists {
		eventually(t, timeout, func(ctx context.Context) string {
			if err := k8s.List(ctx, list, client.InNamespace(namespace)); err != nil {
				return err.Error()
			}
			if n := meta.LenList(list); n > 0 {
				return fmt.Sprintf("%d left in a %T", n, list)
			}
			return ""
		})
	}
}

// refused gives the API server's words, and fails when it has none.
func refused(t *testing.T, o client.Object) string {
	t.Helper()
	err := k8s.Create(t.Context(), o)
	if err == nil {
		t.Fatalf("%T %q was accepted", o, o.GetName())
	}
	if !apierrors.IsInvalid(err) && !apierrors.IsForbidden(err) {
		t.Fatalf("want a refusal, have %v", err)
	}
	return err.Error()
}
