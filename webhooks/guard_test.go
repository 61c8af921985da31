package webhooks

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime"

	gangwaytesting "github.com/gangway-serving/gangway/internal/testing"
)

func handlers(t testing.TB) map[string]http.Handler {
	t.Helper()
	all, err := cutOff()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestBadBodiesGetAnswers(t *testing.T) {
	for path, h := range handlers(t) {
		for _, tc := range []struct {
			name, body, want string
			code             int32
		}{
			{"empty", "", "body is empty", 400},
			{"not JSON", "hello", "couldn't get version/kind", 400},
			{"of another kind", `{"kind":"Pod","apiVersion":"v1"}`, "", 0},
			{"without a request", `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"}`, "", 0},
			{"a request of null", `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":null}`, "", 0},
			{"an object of null", review("CREATE", "null", "null"), "", 0},
			{"an object that is a list", review("CREATE", "[]", "null"), "", 0},
			{"too deep", strings.Repeat("[", 1<<20), "", 0},
			{"an object too deep", review("CREATE", strings.Repeat(`{"spec":`, 20_000)+"1"+strings.Repeat("}", 20_000), "null"), "", 0},
			{"too large", `{"a":"` + strings.Repeat("x", 7<<20) + `"}`, "too large", 413},
		} {
			t.Run(path+" "+tc.name, func(t *testing.T) {
				body := []byte(tc.body)
				r := httptest.NewRequest(http.MethodPost, path, bytes.NewReader(body))
				if len(body) == 0 {
					r = httptest.NewRequest(http.MethodPost, path, nil)
				}
				r.Header.Set("Content-Type", "application/json")
				resp := answerTo(t, h, r)
				if tc.want == "" {
					return
				}
				if resp.Allowed || resp.Result.Code != tc.code || !strings.Contains(resp.Result.Message, tc.want) {
					t.Errorf("want %d with %q, got %+v", tc.code, tc.want, resp.Result)
				}
			})
		}
	}
}

func review(operation, object, old string) string {
	return fmt.Sprintf(`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u","operation":%q,"namespace":"default","name":"sample","object":%s,"oldObject":%s}}`,
		operation, object, old)
}

func TestPanicIsARefusal(t *testing.T) {
	h := guard(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("boom") }))
	if resp := ask(t, h, []byte("{}")); resp.Allowed || resp.Result.Code != 500 {
		t.Errorf("want a refusal with 500, got %+v", resp)
	}
}

func TestSilenceIsARefusal(t *testing.T) {
	h := guard(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	if resp := ask(t, h, []byte("{}")); resp.Allowed || resp.Result.Code != 500 {
		t.Errorf("want a refusal with 500, got %+v", resp)
	}
}

func TestJudgingHasADeadlineBeforeTheAPIServers(t *testing.T) {
	var left time.Duration
	h := guard(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if d, ok := r.Context().Deadline(); ok {
			left = time.Until(d)
		}
	}))
	ask(t, h, []byte("{}"))
	if left <= 0 || left > 5*time.Second {
		t.Errorf("%v are left; the API server waits 5s", left)
	}
}

// TestSlowSenderIsCutOff sends a body that never ends.
func TestSlowSenderIsCutOff(t *testing.T) {
	h := handlers(t)[PathPod]
	server := httptest.NewTLSServer(guardWithin(h, 100*time.Millisecond, time.Second))
	defer server.Close()
	body, writer := io.Pipe()
	defer writer.Close()
	go func() { _, _ = io.WriteString(writer, "{") }()
	done := make(chan string, 1)
	go func() {
		resp, err := server.Client().Post(server.URL, "application/json", body)
		if err != nil {
			done <- err.Error()
			return
		}
		defer resp.Body.Close()
		answer, _ := io.ReadAll(resp.Body)
		done <- string(answer)
	}()
	select {
	case answer := <-done:
		if !strings.Contains(answer, "AdmissionReview") && !strings.Contains(answer, "EOF") && !strings.Contains(answer, "reset") {
			t.Errorf("want a refusal or a closed connection, got %s", answer)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the sender is still waited for")
	}
}

// TestHugeObjectsAreJudgedInTime holds that no object that fits into a request costs seconds.
func TestHugeObjectsAreJudgedInTime(t *testing.T) {
	const size = 3 << 20 // what the API server accepts
	list := func(item string) string {
		n := size / 2 / (len(item) + 1)
		return "[" + strings.TrimSuffix(strings.Repeat(item+",", n), ",") + "]"
	}
	numbered := func(format string) string {
		var b strings.Builder
		for i := 0; b.Len() < size/2; i++ {
			fmt.Fprintf(&b, format+",", i)
		}
		return strings.TrimSuffix(b.String(), ",")
	}
	spec := func(roles, more string) string {
		return `{"apiVersion":"workload.serving.volcano.sh/v1alpha1","kind":"ModelServing","metadata":{"name":"sample","namespace":"default"},"spec":{"template":{"roles":` + roles + more + `}}}`
	}
	inPod := func(pod string) string {
		return spec(`[{"name":"a","entryTemplate":{"spec":`+pod+`}}]`, "")
	}
	for _, tc := range []struct{ name, object string }{
		{"roles", spec(list(`{"name":"a"}`), "")},
		{"minRoleReplicas", spec(`[{"name":"a"}]`, `,"gangPolicy":{"minRoleReplicas":{`+numbered(`"r%d":1`)+`}}`)},
		{"mounts of volumes", inPod(`{"volumes":[` + numbered(`{"name":"v%d"}`) + `],"containers":[{"name":"a","image":"a","volumeMounts":[` + numbered(`{"name":"w%d"}`) + `]}]}`)},
		{"containers", inPod(`{"containers":` + list(`{"name":"A","image":"A"}`) + `}`)},
		{"env", inPod(`{"containers":[{"name":"a","image":"a","env":` + list(`{"name":"GROUP_SIZE"}`) + `}]}`)},
		{"claims", inPod(`{"resourceClaims":[` + numbered(`{"name":"v%d"}`) + `],"containers":[{"name":"a","image":"a","resources":{"claims":` + list(`{"name":"x"}`) + `}}]}`)},
		{"an image", inPod(`{"containers":[{"name":"a","image":"` + strings.Repeat("a/", size/2) + `"}]}`)},
		{"tolerations", inPod(`{"containers":[{"name":"a","image":"a"}],"tolerations":` + list(`{"operator":"x"}`) + `}`)},
		{"a host", spec(`[{"name":"a"}]`, `},"gatewayRef":{"host":"`+strings.Repeat("*.", size/2)+`"`)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if !json.Valid([]byte(tc.object)) {
				t.Fatal("the case itself is not JSON")
			}
			before := cpuTime(t)
			resp := ask(t, handlers(t)[PathModelServing], []byte(review("UPDATE", tc.object, strings.Replace(tc.object, `"metadata":{`, `"metadata":{"labels":{"a":"b"},`, 1))))
			// Of the processor's time, since the machine may be busy with others.
			if took := cpuTime(t) - before; took > answerWithin {
				t.Errorf("took %v", took)
			} else {
				t.Logf("took %v", took)
			}
			answer, err := json.Marshal(resp)
			if err != nil || len(answer) > 1<<20 {
				t.Errorf("the answer has %d bytes (%v)", len(answer), err)
			}
		})
	}
}

func cpuTime(t *testing.T) time.Duration {
	t.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// seeds are bodies from which fuzzing starts: well-formed ones of every kind, and some that are not.
func seeds(t testing.TB) [][]byte {
	t.Helper()
	sample := gangwaytesting.Sample().GatewayRef("llm", "http", "llm.example.com").Obj()
	encoded, err := json.Marshal(sample)
	if err != nil {
		t.Fatal(err)
	}
	var bodies [][]byte
	for _, op := range []string{"CREATE", "UPDATE", "DELETE", "CONNECT", "?"} {
		bodies = append(bodies, []byte(review(op, string(encoded), string(encoded))))
	}
	typed, err := json.Marshal(admissionv1.AdmissionReview{Request: &admissionv1.AdmissionRequest{Object: runtime.RawExtension{Raw: encoded}}})
	if err != nil {
		t.Fatal(err)
	}
	return append(bodies, typed, []byte(`{}`), []byte(`null`), []byte(`[`), nil,
		[]byte(strings.Repeat("[", 200)), []byte(strings.ReplaceAll(string(typed), "/v1", "/v1beta1")))
}
