package cluster

import (
	"fmt"
	"path"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	validatingKind = "ValidatingWebhookConfiguration"
	mutatingKind   = "MutatingWebhookConfiguration"
)

// useURL makes the API server call the webhooks of a configuration at a port of
// this machine instead of a Service: without kube-proxy, a Service's address
// leads nowhere. Everything else stays as it was installed.
func useURL(u *unstructured.Unstructured, port int) error {
	if k := u.GetKind(); k != validatingKind && k != mutatingKind {
		return nil
	}
	hooks, _, err := unstructured.NestedSlice(u.Object, "webhooks")
	if err != nil {
		return fmt.Errorf("read the webhooks of %s %q: %w", u.GetKind(), u.GetName(), err)
	}
	for i, h := range hooks {
		hook, ok := h.(map[string]any)
		if !ok {
			return fmt.Errorf("%s %q: webhooks[%d] is no object", u.GetKind(), u.GetName(), i)
		}
		service, found, err := unstructured.NestedMap(hook, "clientConfig", "service")
		if err != nil {
			return fmt.Errorf("%s %q: webhooks[%d].clientConfig: %w", u.GetKind(), u.GetName(), i, err)
		}
		if !found {
			continue
		}
		servicePath, _ := service["path"].(string)
		unstructured.RemoveNestedField(hook, "clientConfig", "service")
		url := "https://" + address(port) + path.Join("/", servicePath)
		if err := unstructured.SetNestedField(hook, url, "clientConfig", "url"); err != nil {
			return fmt.Errorf("%s %q: webhooks[%d].clientConfig: %w", u.GetKind(), u.GetName(), i, err)
		}
	}
	return unstructured.SetNestedSlice(u.Object, hooks, "webhooks")
}
