package controllers_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	gangwaytesting "github.com/gangway-serving/gangway/internal/testing"
)

// shippedRole reads the ClusterRole that is installed with the manager.
func shippedRole(t testing.TB) *rbacv1.ClusterRole {
	t.Helper()
	root, err := gangwaytesting.Root()
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(root, "config", "rbac", "role.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	docs := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(b), 4096)
	for {
		role := &rbacv1.ClusterRole{}
		if err := docs.Decode(role); errors.Is(err, io.EOF) {
			t.Fatal("config/rbac/role.yaml has no ClusterRole")
		} else if err != nil {
			t.Fatal(err)
		}
		if role.Kind == "ClusterRole" {
			return role
		}
	}
}

// shippedRights is a way to the API server with the rights that are installed with the manager, and
// no others. What net sees refused for want of a right fails the test.
func shippedRights(t testing.TB, server *gangwaytesting.APIServer, net *network) *rest.Config {
	t.Helper()
	const group = "shipped-rights"
	role := shippedRole(t)
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.GroupKind, APIGroup: rbacv1.GroupName, Name: group}},
		RoleRef:    rbacv1.RoleRef{Kind: "ClusterRole", APIGroup: rbacv1.GroupName, Name: role.Name},
	}
	for _, obj := range []client.Object{role, binding} {
		if err := server.Client.Create(t.Context(), obj); err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
	}
	allowed := func(ctx context.Context) (bool, error) {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: "manager", Groups: []string{group},
			ResourceAttributes: &authorizationv1.ResourceAttributes{Group: workloadv1alpha1.GroupName, Resource: "modelservings", Verb: "list"},
		}}
		err := server.Client.Create(ctx, review)
		return review.Status.Allowed, err
	}
	if err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, timeout, true, allowed); err != nil {
		t.Fatalf("the API server does not learn the shipped rights: %v", err)
	}
	user, err := server.Environment.ControlPlane.AddUser(envtest.User{Name: "manager", Groups: []string{group}}, &rest.Config{})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		net.mu.Lock()
		defer net.mu.Unlock()
		if len(net.forbidden) > 0 {
			t.Errorf("forbidden: %v", net.forbidden)
		}
	})
	return user.Config()
}

// The shipped rights are all that the manager needs for a whole life of a ModelServing. The tests of
// routes and VLLMServices run with nothing else.
func TestManagerWithTheShippedRights(t *testing.T) {
	t.Parallel()
	w := newWorldOn(t, shared)
	w.config = shippedRights(t, shared, w.net)
	w.start()

	ms := twoRoles(2).RevisionHistoryLimit(0).RecoveryPolicy(workloadv1alpha1.RecoverServingGroup).Obj()
	w.create(ms)
	w.available(ms, 2)
	w.change(ms, setImage(imageNew)) // Rollout, and revision history.
	w.available(ms, 2)
	w.change(ms, setImage(gangwaytesting.DefaultImage))
	w.available(ms, 2)
	w.change(ms, func(ms *workloadv1alpha1.ModelServing) { // PodGroups are updated.
		ms.Spec.Template.GangPolicy = &workloadv1alpha1.GangPolicy{MinRoleReplicas: map[string]int32{"prefill": 1}}
		ms.Spec.Replicas = ptr.To[int32](1) // Services are deleted.
	})
	w.available(ms, 1)
	w.kubelet.hold("ms-0-decode") // A node is asked for, and a Pod force deleted.
	w.kubelet.crash("ms-0-decode-0-0")
	old := w.allPods(ms)["ms-0-decode-0-0"]
	w.remove(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: w.kubelet.node}})
	w.later(time.Minute, ms)
	w.replaced(old)
	w.available(ms, 1)
	w.eventEmitted(ms, workloadv1alpha1.EventGroupRecreating)
	w.quiet(ms)
}
