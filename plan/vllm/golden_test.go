package vllm

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"

	"github.com/gangway-serving/gangway/api/aiinfra/v1alpha1"
	gangwaytesting "github.com/gangway-serving/gangway/internal/testing"
	"github.com/gangway-serving/gangway/plan/action"
	"github.com/gangway-serving/gangway/plan/route"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// snapshotOf is v on a cluster that has everything optional, its Gateway, and nothing of v's.
func snapshotOf(v *v1alpha1.VLLMService) Snapshot {
	in := route.ForVLLMService(v)
	in.Installed = true
	if in.Ref != nil {
		in.Gateway = &gatewayv1.Gateway{
			ObjectMeta: metav1.ObjectMeta{Namespace: in.Ref.Namespace, Name: in.Ref.Name},
			Spec: gatewayv1.GatewaySpec{Listeners: []gatewayv1.Listener{{
				Name: gatewayv1.SectionName(in.Ref.SectionName), Protocol: gatewayv1.HTTPProtocolType, Port: 80,
			}}},
		}
	}
	return Snapshot{VLLMService: v, Monitors: true, Route: in}
}

// TestGolden makes every testdata/x.in.yaml into the objects of x.out.yaml.
// go test ./plan/vllm -update writes the latter.
func TestGolden(t *testing.T) {
	inputs, err := filepath.Glob("testdata/*.in.yaml")
	if err != nil || len(inputs) == 0 {
		t.Fatalf("no testdata (%v)", err)
	}
	for _, in := range inputs {
		name := strings.TrimSuffix(filepath.Base(in), ".in.yaml")
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(in)
			if err != nil {
				t.Fatal(err)
			}
			v := &v1alpha1.VLLMService{}
			if err := yaml.UnmarshalStrict(data, v); err != nil {
				t.Fatal(err)
			}
			before := v.DeepCopy()
			got := documents(t, Compute(snapshotOf(v), now))
			if diff := cmp.Diff(before, v); diff != "" {
				t.Errorf("Compute changed its input (-before +after):\n%s", diff)
			}

			gangwaytesting.Golden(t, filepath.Join("testdata", name+".out.yaml"), got)
		})
	}
}

// TestGoldenFilesSetEveryField keeps a field of the spec from being added, and forgotten here or in
// the objects.
func TestGoldenFilesSetEveryField(t *testing.T) {
	inputs, err := filepath.Glob("testdata/*.in.yaml")
	if err != nil {
		t.Fatal(err)
	}
	set := map[string]bool{}
	for _, in := range inputs {
		data, err := os.ReadFile(in)
		if err != nil {
			t.Fatal(err)
		}
		v := &v1alpha1.VLLMService{}
		if err := yaml.UnmarshalStrict(data, v); err != nil {
			t.Fatal(err)
		}
		fieldsSet(set, "spec", reflect.ValueOf(v.Spec))
	}
	for path, isSet := range set {
		if !isSet {
			t.Errorf("no testdata/*.in.yaml sets %s", path)
		}
	}
}

// fieldsSet notes of every field below v, as far as our own types go, whether it is set.
func fieldsSet(set map[string]bool, path string, v reflect.Value) {
	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		field, fieldPath := v.Field(i), path+"."+name
		set[fieldPath] = set[fieldPath] || !field.IsZero()
		if field.Kind() == reflect.Pointer && field.Type().Elem().PkgPath() == v.Type().PkgPath() {
			if field.IsNil() {
				field = reflect.New(field.Type().Elem())
			}
			field = field.Elem()
		}
		if field.Kind() == reflect.Struct && field.Type().PkgPath() == v.Type().PkgPath() {
			fieldsSet(set, fieldPath, field)
		}
	}
}

func documents(t *testing.T, p Plan) []byte {
	t.Helper()
	var out bytes.Buffer
	for _, lane := range p.Lanes {
		for _, stage := range lane.Stages {
			for _, a := range stage {
				if a.Verb != action.Create {
					t.Errorf("%s in an empty cluster", a.Verb)
				}
				data, err := yaml.Marshal(a.Object)
				if err != nil {
					t.Fatal(err)
				}
				out.WriteString("---\n")
				out.Write(data)
			}
		}
	}
	return out.Bytes()
}
