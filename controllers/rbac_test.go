package controllers_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	gangwaytesting "github.com/gangway-serving/gangway/internal/testing"
)

// shippedRole reads the ClusterRole that is installed with the manager.
func shippedRole(t *testing.T) *rbacv1.ClusterRole {
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

// The shipped rights are all that the manager needs for a whole life of a ModelServing.
func TestManagerWithTheShippedRights(t *testing.T) {
	t.Parallel()
	w := newWorldOn(t, shared)
	role := shippedRole(t)
	role.Name = "manager-of-" + w.ns
	user := "manager-of-" + w.ns
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}},
		RoleRef:    rbacv1.RoleRef{Kind: "ClusterRole", APIGroup: rbacv1.GroupName, Name: role.Name},
	}
	w.create(role, binding)
	identity, err := shared.Environment.ControlPlane.AddUser(envtest.User{Name: user}, &rest.Config{})
	if err != nil {
		t.Fatal(err)
	}
	w.config = identity.Config()
	var mu sync.Mutex
	var forbidden []string
	w.net.answered = func(req *http.Request, status int) {
		if status == http.StatusForbidden || status == http.StatusUnauthorized {
			mu.Lock()
			defer mu.Unlock()
			forbidden = append(forbidden, req.Method+" "+req.URL.Path)
		}
	}
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

	mu.Lock()
	defer mu.Unlock()
	if len(forbidden) > 0 {
		t.Errorf("forbidden: %v", forbidden)
	}
}
