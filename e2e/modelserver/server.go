package modelserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// ServedByHeader names, in every answer, the server that gave it.
const ServedByHeader = "X-Served-By"

// maxBody of a request, in bytes.
const maxBody = 1 << 20

// Options of a server.
type Options struct {
	// Models are the names under which the model is served. At least one.
	Models []string
	// Root is the path of the model, as /v1/models tells it.
	Root string
	// ServedBy is the value of ServedByHeader; empty leaves the header out.
	ServedBy string
	// TokenInterval is the pause after each token. Default: none.
	TokenInterval time.Duration
}

type server struct {
	Options
	started int64
	answers atomic.Int64
}

// New gives the handler of all paths.
func New(o Options) http.Handler {
	s := &server{Options: o, started: time.Now().Unix()}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /v1/models", s.models)
	mux.HandleFunc("POST /v1/chat/completions", s.chat)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if o.ServedBy != "" {
			w.Header().Set(ServedByHeader, o.ServedBy)
		}
		mux.ServeHTTP(w, r)
	})
}

func (s *server) models(w http.ResponseWriter, _ *http.Request) {
	list := Models{Object: "list", Data: []Model{}}
	for _, name := range s.Models {
		list.Data = append(list.Data, Model{ID: name, Object: "model", Created: s.started, OwnedBy: "vllm", Root: s.Root})
	}
	answer(w, http.StatusOK, list)
}

func (s *server) chat(w http.ResponseWriter, r *http.Request) {
	var req chatRequest
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(&req); err != nil {
		if tooLarge := (&http.MaxBytesError{}); errors.As(err, &tooLarge) {
			refuse(w, http.StatusRequestEntityTooLarge, "", "the request is larger than %d bytes", maxBody)
			return
		}
		refuse(w, http.StatusBadRequest, "", "the request is no chat completion: %v", err)
		return
	}
	if !slices.Contains(s.Models, req.Model) {
		refuse(w, http.StatusNotFound, "model", "the model %q does not exist; served here: %s", req.Model, strings.Join(s.Models, ", "))
		return
	}
	if len(req.Messages) == 0 {
		refuse(w, http.StatusBadRequest, "messages", "messages is empty; give at least one")
		return
	}
	words, prompt, err := read(req)
	if err != nil {
		refuse(w, http.StatusBadRequest, "messages", "%v", err)
		return
	}
	reason := "stop"
	if n, ok := req.limit(); ok {
		if n < 1 {
			refuse(w, http.StatusBadRequest, "max_tokens", "max_tokens is %d; give at least 1", n)
			return
		}
		if n < len(words) {
			words, reason = words[:n], "length"
		}
	}
	c := Completion{
		ID:      fmt.Sprintf("chatcmpl-%d", s.answers.Add(1)),
		Created: time.Now().Unix(),
		Model:   req.Model,
	}
	usage := &Usage{PromptTokens: prompt, CompletionTokens: len(words), TotalTokens: prompt + len(words)}
	if req.Stream {
		if !req.StreamOptions.IncludeUsage {
			usage = nil
		}
		s.stream(w, r, c, words, reason, usage)
		return
	}
	for range words {
		if !s.pause(r) {
			return
		}
	}
	c.Object, c.Usage = "chat.completion", usage
	c.Choices = []Choice{{Message: &Message{Role: "assistant", Content: strings.Join(words, " ")}, FinishReason: &reason}}
	answer(w, http.StatusOK, c)
}

// read gives the words of the last message and counts those of all.
func read(req chatRequest) (words []string, prompt int, err error) {
	for i, m := range req.Messages {
		text, err := m.text()
		if err != nil {
			return nil, 0, fmt.Errorf("messages[%d].%w", i, err)
		}
		words = strings.Fields(text)
		prompt += len(words)
	}
	return words, prompt, nil
}

// stream sends server-sent events: one for the role, one for each token, one with the reason of
// the end, one with the usage where it is asked for, and the mark of the end.
func (s *server) stream(w http.ResponseWriter, r *http.Request, c Completion, words []string, reason string, usage *Usage) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.Header().Set("Cache-Control", "no-cache")
	flush := http.NewResponseController(w)
	// An error of a write means that the client is gone: there is nobody to tell.
	send := func(c Completion) bool {
		b, err := json.Marshal(c)
		if err != nil {
			return false
		}
		if _, err := fmt.Fprintf(w, "data: %s\n\n", b); err != nil {
			return false
		}
		return flush.Flush() == nil
	}
	c.Object = "chat.completion.chunk"
	chunk := func(delta Message, reason *string) bool {
		c.Choices = []Choice{{Delta: &delta, FinishReason: reason}}
		return send(c)
	}
	if !chunk(Message{Role: "assistant"}, nil) {
		return
	}
	for i, word := range words {
		if i > 0 {
			word = " " + word
		}
		if !s.pause(r) || !chunk(Message{Content: word}, nil) {
			return
		}
	}
	if !chunk(Message{}, &reason) {
		return
	}
	if usage != nil {
		c.Choices, c.Usage = []Choice{}, usage
		if !send(c) {
			return
		}
	}
	_, _ = fmt.Fprint(w, "data: [DONE]\n\n")
}

// pause waits for one token; it is false when the client is gone.
func (s *server) pause(r *http.Request) bool {
	if s.TokenInterval <= 0 {
		return r.Context().Err() == nil
	}
	timer := time.NewTimer(s.TokenInterval)
	defer timer.Stop()
	select {
	case <-r.Context().Done():
		return false
	case <-timer.C:
		return true
	}
}

func answer(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(v) // The client is gone, or nothing.
}

func refuse(w http.ResponseWriter, code int, param, format string, args ...any) {
	f := Fault{Error: FaultDetail{Message: fmt.Sprintf(format, args...), Type: strings.ReplaceAll(http.StatusText(code), " ", "") + "Error", Code: code}}
	if param != "" {
		f.Error.Param = &param
	}
	answer(w, code, f)
}
