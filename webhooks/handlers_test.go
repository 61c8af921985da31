package webhooks

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	aiinfrav1alpha1 "github.com/gangway-serving/gangway/api/aiinfra/v1alpha1"
	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	gangwaytesting "github.com/gangway-serving/gangway/internal/testing"
)

// cutOff are the handlers of a manager that reaches no API server: the worst that a webhook can be
// asked in.
var cutOff = sync.OnceValues(func() (map[string]http.Handler, error) {
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Namespace"), meta.RESTScopeRoot)
	mapper.Add(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"), meta.RESTScopeRoot)
	mapper.Add(schema.GroupVersionKind{Group: gatewayv1.GroupName, Version: "v1", Kind: "Gateway"}, meta.RESTScopeNamespace)
	mapper.Add(workloadv1alpha1.GroupVersion.WithKind("ModelServing"), meta.RESTScopeNamespace)
	mapper.Add(aiinfrav1alpha1.GroupVersion.WithKind("VLLMService"), meta.RESTScopeNamespace)
	mgr, err := ctrl.NewManager(&rest.Config{Host: "https://127.0.0.1:1", QPS: -1}, ctrl.Options{
		Scheme:                 gangwaytesting.Scheme(),
		Metrics:                server.Options{BindAddress: "0"},
		HealthProbeBindAddress: "0",
		MapperProvider:         func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return mapper, nil },
	})
	if err != nil {
		return nil, err
	}
	handlers, err := newHandlers(mgr, Options{})
	if err != nil {
		return nil, err
	}
	for path, h := range handlers {
		handlers[path] = guard(h)
	}
	return handlers, nil
})

// ask posts a body and holds that the answer is a well-formed AdmissionReview.
func ask(t testing.TB, h http.Handler, body []byte) *admissionv1.AdmissionResponse {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	return answerTo(t, h, r)
}

func answerTo(t testing.TB, h http.Handler, r *http.Request) *admissionv1.AdmissionResponse {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	review := &admissionv1.AdmissionReview{}
	decoder := json.NewDecoder(w.Body)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(review); err != nil {
		t.Fatalf("the answer is not an AdmissionReview: %v", err)
	}
	switch resp := review.Response; {
	case w.Code != http.StatusOK:
		t.Fatalf("HTTP status %d", w.Code)
	case review.Kind != "AdmissionReview" || resp == nil:
		t.Fatalf("not an answer: %+v", review)
	case !resp.Allowed && (resp.Result == nil || resp.Result.Message == ""):
		t.Fatalf("refused without a word: %+v", resp)
	case resp.Allowed && len(resp.Patch) > 0 && resp.PatchType == nil:
		t.Fatalf("a patch without a type: %+v", resp)
	}
	return review.Response
}
