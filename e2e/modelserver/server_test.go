package modelserver

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// changing fields are those that differ from one answer to the next.
var changing = cmp.Options{
	cmpopts.IgnoreFields(Completion{}, "ID", "Created"),
	cmpopts.IgnoreFields(Model{}, "Created"),
}

func start(t *testing.T, o Options) string {
	t.Helper()
	if o.Models == nil {
		o.Models, o.Root = []string{"llm"}, "/data/llm"
	}
	s := httptest.NewServer(New(o))
	t.Cleanup(s.Close)
	return s.URL
}

func do(t *testing.T, method, url, body string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close() //nolint:errcheck // Read only.
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(b)
}

func decodeTo[T any](t *testing.T, s string) T {
	t.Helper()
	var v T
	d := json.NewDecoder(strings.NewReader(s))
	d.DisallowUnknownFields()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("decode %q: %v", s, err)
	}
	return v
}

func ptr[T any](v T) *T { return &v }

func TestHealthAndModels(t *testing.T) {
	url := start(t, Options{Models: []string{"a", "b"}, Root: "/data/m", ServedBy: "pod-0"})
	resp, body := do(t, http.MethodGet, url+"/health", "")
	if resp.StatusCode != http.StatusOK || body != "" || resp.Header.Get(ServedByHeader) != "pod-0" {
		t.Errorf("/health: %s %q, header %v", resp.Status, body, resp.Header)
	}
	resp, body = do(t, http.MethodGet, url+"/v1/models", "")
	want := Models{Object: "list", Data: []Model{
		{ID: "a", Object: "model", OwnedBy: "vllm", Root: "/data/m"},
		{ID: "b", Object: "model", OwnedBy: "vllm", Root: "/data/m"},
	}}
	if diff := cmp.Diff(want, decodeTo[Models](t, body), changing); diff != "" || resp.StatusCode != http.StatusOK {
		t.Errorf("/v1/models: %s (-want +got):\n%s", resp.Status, diff)
	}
}

func TestChatWhole(t *testing.T) {
	url := start(t, Options{}) + "/v1/chat/completions"
	tests := map[string]struct {
		body string
		want Completion
	}{
		"the words of the last message come back": {
			body: `{"model":"llm","messages":[{"role":"system","content":"be brief"},{"role":"user","content":"one two three"}]}`,
			want: Completion{
				Object: "chat.completion", Model: "llm",
				Choices: []Choice{{Message: &Message{Role: "assistant", Content: "one two three"}, FinishReason: ptr("stop")}},
				Usage:   &Usage{PromptTokens: 5, CompletionTokens: 3, TotalTokens: 8},
			},
		},
		"max_tokens cuts the answer": {
			body: `{"model":"llm","max_tokens":2,"messages":[{"role":"user","content":"one two three"}]}`,
			want: Completion{
				Object: "chat.completion", Model: "llm",
				Choices: []Choice{{Message: &Message{Role: "assistant", Content: "one two"}, FinishReason: ptr("length")}},
				Usage:   &Usage{PromptTokens: 3, CompletionTokens: 2, TotalTokens: 5},
			},
		},
		"content may be a list of parts": {
			body: `{"model":"llm","messages":[{"role":"user","content":[{"type":"text","text":"hello"},{"type":"image_url"}]}]}`,
			want: Completion{
				Object: "chat.completion", Model: "llm",
				Choices: []Choice{{Message: &Message{Role: "assistant", Content: "hello"}, FinishReason: ptr("stop")}},
				Usage:   &Usage{PromptTokens: 1, CompletionTokens: 1, TotalTokens: 2},
			},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			resp, body := do(t, http.MethodPost, url, tc.body)
			if diff := cmp.Diff(tc.want, decodeTo[Completion](t, body), changing); diff != "" || resp.StatusCode != http.StatusOK {
				t.Errorf("%s (-want +got):\n%s", resp.Status, diff)
			}
		})
	}
}

func TestChatStream(t *testing.T) {
	url := start(t, Options{}) + "/v1/chat/completions"
	resp, body := do(t, http.MethodPost, url,
		`{"model":"llm","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"one two"}]}`)
	if got := resp.Header.Get("Content-Type"); got != "text/event-stream; charset=utf-8" {
		t.Errorf("Content-Type %q", got)
	}
	events := strings.Split(strings.TrimSuffix(body, "\n\n"), "\n\n")
	if last := events[len(events)-1]; last != "data: [DONE]" {
		t.Fatalf("the last event is %q", last)
	}
	var got []Completion
	for _, e := range events[:len(events)-1] {
		got = append(got, decodeTo[Completion](t, strings.TrimPrefix(e, "data: ")))
	}
	chunk := func(m Message, reason *string) Completion {
		return Completion{Object: "chat.completion.chunk", Model: "llm", Choices: []Choice{{Delta: &m, FinishReason: reason}}}
	}
	want := []Completion{
		chunk(Message{Role: "assistant"}, nil),
		chunk(Message{Content: "one"}, nil),
		chunk(Message{Content: " two"}, nil),
		chunk(Message{}, ptr("stop")),
		{Object: "chat.completion.chunk", Model: "llm", Choices: []Choice{}, Usage: &Usage{PromptTokens: 2, CompletionTokens: 2, TotalTokens: 4}},
	}
	if diff := cmp.Diff(want, got, changing); diff != "" {
		t.Errorf("chunks (-want +got):\n%s", diff)
	}
}

// The first event must arrive while the rest is not even made.
func TestChatStreamsAsItGoes(t *testing.T) {
	url := start(t, Options{TokenInterval: time.Hour}) + "/v1/chat/completions"
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url,
		strings.NewReader(`{"model":"llm","stream":true,"messages":[{"role":"user","content":"one"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close() //nolint:errcheck // Read only.
	line, err := bufio.NewReader(resp.Body).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "data: {") {
		t.Errorf("first line %q, error %v", line, err)
	}
}

func TestRefusals(t *testing.T) {
	url := start(t, Options{}) + "/v1/chat/completions"
	tests := map[string]struct {
		body string
		want FaultDetail
	}{
		"a body that is not JSON": {
			body: "x",
			want: FaultDetail{Message: "the request is no chat completion: invalid character 'x' looking for beginning of value", Type: "BadRequestError", Code: 400},
		},
		"another model": {
			body: `{"model":"gpt","messages":[{"role":"user","content":"x"}]}`,
			want: FaultDetail{Message: `the model "gpt" does not exist; served here: llm`, Type: "NotFoundError", Param: ptr("model"), Code: 404},
		},
		"no message": {
			body: `{"model":"llm"}`,
			want: FaultDetail{Message: "messages is empty; give at least one", Type: "BadRequestError", Param: ptr("messages"), Code: 400},
		},
		"content that is a number": {
			body: `{"model":"llm","messages":[{"role":"user","content":1}]}`,
			want: FaultDetail{Message: "messages[0].content is 1; want a string or a list of parts", Type: "BadRequestError", Param: ptr("messages"), Code: 400},
		},
		"no token at all": {
			body: `{"model":"llm","max_tokens":0,"messages":[{"role":"user","content":"x"}]}`,
			want: FaultDetail{Message: "max_tokens is 0; give at least 1", Type: "BadRequestError", Param: ptr("max_tokens"), Code: 400},
		},
		"a body that is too large": {
			body: `{"model":"` + strings.Repeat("x", maxBody) + `"}`,
			want: FaultDetail{Message: "the request is larger than 1048576 bytes", Type: "RequestEntityTooLargeError", Code: 413},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			resp, body := do(t, http.MethodPost, url, tc.body)
			if diff := cmp.Diff(Fault{Error: tc.want}, decodeTo[Fault](t, body)); diff != "" || resp.StatusCode != tc.want.Code {
				t.Errorf("%s (-want +got):\n%s", resp.Status, diff)
			}
		})
	}
}

func TestOtherPathsAndMethods(t *testing.T) {
	url := start(t, Options{})
	for request, want := range map[string]int{
		"GET /":                      http.StatusNotFound,
		"POST /health":               http.StatusMethodNotAllowed,
		"GET /v1/chat/completions":   http.StatusMethodNotAllowed,
		"POST /v1/models":            http.StatusMethodNotAllowed,
		"GET /v1/models/llm/anymore": http.StatusNotFound,
	} {
		method, path, _ := strings.Cut(request, " ")
		if resp, _ := do(t, method, url+path, ""); resp.StatusCode != want {
			t.Errorf("%s: %s, want %d", request, resp.Status, want)
		}
	}
}
