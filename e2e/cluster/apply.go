package cluster

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// manifestNames are the folders of CRDs that a cluster gets.
var manifestNames = []string{"volcano", "gateway-api", "cert-manager"}

// fieldOwner of what this package applies.
const fieldOwner = client.FieldOwner("gangway-e2e-cluster")

const crdKind = "CustomResourceDefinition"

// readManifests decodes every YAML file of a folder, in the order of the names.
func readManifests(dir string) ([]*unstructured.Unstructured, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", dir, err)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s holds no YAML file", dir)
	}
	var objs []*unstructured.Unstructured
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read a manifest: %w", err)
		}
		more, err := decode(b)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		objs = append(objs, more...)
	}
	return objs, nil
}

// decode reads a YAML stream of objects; empty documents are left out.
func decode(b []byte) ([]*unstructured.Unstructured, error) {
	var objs []*unstructured.Unstructured
	d := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(b), 4096)
	for {
		u := &unstructured.Unstructured{}
		err := d.Decode(&u.Object)
		if errors.Is(err, io.EOF) {
			return objs, nil
		}
		if err != nil {
			return nil, fmt.Errorf("decode a manifest: %w", err)
		}
		if len(u.Object) > 0 {
			objs = append(objs, u)
		}
	}
}

// sortForApply puts first what others need: CRDs, then Namespaces, then the
// rest; webhook configurations come last.
func sortForApply(objs []*unstructured.Unstructured) {
	rank := func(u *unstructured.Unstructured) int {
		switch u.GetKind() {
		case crdKind:
			return 0
		case "Namespace":
			return 1
		case validatingKind, mutatingKind:
			return 3
		default:
			return 2
		}
	}
	slices.SortStableFunc(objs, func(a, b *unstructured.Unstructured) int { return cmp.Compare(rank(a), rank(b)) })
}

// applyAll applies objects server-side. A nil error promises that the API
// server serves the CRDs among them.
func applyAll(ctx context.Context, cl client.Client, objs []*unstructured.Unstructured) error {
	sortForApply(objs)
	var pending []string
	for i, u := range objs {
		err := cl.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), fieldOwner, client.ForceOwnership)
		if err != nil {
			return fmt.Errorf("apply %s %q: %w", u.GetKind(), u.GetName(), err)
		}
		if u.GetKind() == crdKind {
			pending = append(pending, u.GetName())
		}
		if i+1 < len(objs) && objs[i+1].GetKind() == crdKind {
			continue
		}
		if err := established(ctx, cl, pending); err != nil {
			return err
		}
		pending = nil
	}
	return nil
}

// established waits until the API server serves every one of the CRDs.
func established(ctx context.Context, cl client.Client, names []string) error {
	for _, name := range names {
		err := poll(ctx, objectLimit, func(ctx context.Context) error {
			u := &unstructured.Unstructured{}
			u.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind(crdKind))
			if err := cl.Get(ctx, client.ObjectKey{Name: name}, u); err != nil {
				return fmt.Errorf("get CRD %q: %w", name, err)
			}
			conds, _, err := unstructured.NestedSlice(u.Object, "status", "conditions")
			if err != nil {
				return fmt.Errorf("read the conditions of CRD %q: %w", name, err)
			}
			for _, c := range conds {
				m, ok := c.(map[string]any)
				if ok && m["type"] == string(apiextensionsv1.Established) && m["status"] == "True" {
					return nil
				}
			}
			return fmt.Errorf("CRD %q is not established", name)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
