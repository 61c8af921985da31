package webhooks

import (
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	gangwaytesting "github.com/gangway-serving/gangway/internal/testing"
	"github.com/gangway-serving/gangway/plan/names"
)

// The targets hold for every path: whatever is sent, as a whole body or as the object of a
// well-formed request, there is a well-formed answer, no panic and no hang.

func FuzzModelServingPath(f *testing.F) {
	fuzzPath(f, PathModelServing, gangwaytesting.Sample().GatewayRef("llm", "http", "llm.example.com").Obj())
}

func FuzzVLLMServicePath(f *testing.F) {
	fuzzPath(f, PathVLLMService, json.RawMessage(`{"apiVersion":"aiinfra.example.com/v1alpha1","kind":"VLLMService","metadata":{"name":"qwen","namespace":"default"},
		"spec":{"image":"vllm/vllm-openai","modelPath":"/data/models/qwen","modelName":"qwen","port":8000,"storage":{"pvcName":"a","mountPath":"/data/models"},
		"resources":{"limits":{"nvidia.com/gpu":"1"}},"extraArgs":["--dtype","auto"],"gatewayRef":{"name":"llm","namespace":"infra","sectionName":"http","host":"a.b"}}}`))
}

func FuzzScalePath(f *testing.F) {
	fuzzPath(f, PathScale, json.RawMessage(`{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"sample","namespace":"default"},"spec":{"replicas":3}}`))
}

func FuzzPodPath(f *testing.F) {
	fuzzPath(f, PathPod, &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Name: "sample-0-prefill-0-0", Labels: map[string]string{
				names.LabelModelServing: "sample", names.LabelGroup: "sample-0", names.LabelRole: "prefill",
			},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "workload.serving.volcano.sh/v1alpha1", Kind: "ModelServing", Name: "sample", UID: "u", Controller: ptr.To(true),
			}},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "server", Image: "a"}}},
	})
}

func fuzzPath(f *testing.F, path string, object any) {
	encoded, err := json.Marshal(object)
	if err != nil {
		f.Fatal(err)
	}
	for _, body := range seeds(f) {
		f.Add(body, false)
	}
	f.Add(encoded, true)
	f.Add([]byte(`{}`), true)
	f.Add([]byte(`null`), true)
	h := handlers(f)[path]
	f.Fuzz(func(t *testing.T, data []byte, asObject bool) {
		if !asObject {
			ask(t, h, data)
			return
		}
		ask(t, h, []byte(review("CREATE", string(data), "null")))
		ask(t, h, []byte(review("UPDATE", string(data), string(encoded))))
		ask(t, h, []byte(review("UPDATE", string(encoded), string(data))))
	})
}
