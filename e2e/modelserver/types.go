package modelserver

import (
	"encoding/json"
	"fmt"
	"strings"
)

// message is one turn of a conversation. Content is a string, or a list of parts of which those
// of type text count.
type message struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

func (m message) text() (string, error) {
	var s string
	if err := json.Unmarshal(m.Content, &s); err == nil {
		return s, nil
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if err := json.Unmarshal(m.Content, &parts); err != nil {
		return "", fmt.Errorf("content is %s; want a string or a list of parts", m.Content)
	}
	var texts []string
	for _, p := range parts {
		if p.Type == "text" {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, " "), nil
}

// chatRequest holds what of a chat completion's request is looked at.
type chatRequest struct {
	Model               string    `json:"model"`
	Messages            []message `json:"messages"`
	Stream              bool      `json:"stream"`
	MaxTokens           *int      `json:"max_tokens"`
	MaxCompletionTokens *int      `json:"max_completion_tokens"`
	StreamOptions       struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
}

// limit of the answer in tokens; ok is false when the request sets none.
func (r chatRequest) limit() (n int, ok bool) {
	for _, l := range []*int{r.MaxCompletionTokens, r.MaxTokens} {
		if l != nil {
			return *l, true
		}
	}
	return 0, false
}

// Usage counts tokens.
type Usage struct {
	PromptTokens     int `json:"prompt_tokens"`
	CompletionTokens int `json:"completion_tokens"`
	TotalTokens      int `json:"total_tokens"`
}

// Message is one turn of an answer, or the part of it that a chunk brings.
type Message struct {
	Role    string `json:"role,omitempty"`
	Content string `json:"content,omitempty"`
}

// Choice is an answer: Message of a whole one, Delta of a chunk.
type Choice struct {
	Index        int      `json:"index"`
	Message      *Message `json:"message,omitempty"`
	Delta        *Message `json:"delta,omitempty"`
	FinishReason *string  `json:"finish_reason"`
}

// Completion is the answer of /v1/chat/completions, or one chunk of it.
type Completion struct {
	ID      string   `json:"id"`
	Object  string   `json:"object"`
	Created int64    `json:"created"`
	Model   string   `json:"model"`
	Choices []Choice `json:"choices"`
	Usage   *Usage   `json:"usage,omitempty"`
}

// Model is an entry of the answer of /v1/models.
type Model struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`
	// Root is the path that the model was loaded from.
	Root string `json:"root,omitempty"`
}

// Models is the answer of /v1/models.
type Models struct {
	Object string  `json:"object"`
	Data   []Model `json:"data"`
}

// Fault is the answer to a request that cannot be served.
type Fault struct {
	Error FaultDetail `json:"error"`
}

// FaultDetail says what is wrong with a request.
type FaultDetail struct {
	Message string `json:"message"`
	Type    string `json:"type"`
	// Param is the field of the request, where it is one.
	Param *string `json:"param"`
	Code  int     `json:"code"`
}
