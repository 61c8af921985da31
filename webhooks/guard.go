package webhooks

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
)

const (
	// answerWithin is shorter than the timeout of the webhook configurations (5 s), so that the
	// API server hears our reason instead of its own.
	answerWithin = 4 * time.Second
	// readWithin bounds how long a sender may take for the body.
	readWithin = 4 * time.Second
)

// guard makes of whatever next does a well-formed answer in time: a panic is a refusal, and so is a
// body that cannot be read. The size of bodies is limited by controller-runtime, to 7 MiB.
func guard(next http.Handler) http.Handler {
	return guardWithin(next, readWithin, answerWithin)
}

func guardWithin(next http.Handler, read, answerIn time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Where deadlines are not supported, the server's own have to do.
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(read))
		ctx, cancel := context.WithTimeout(r.Context(), answerIn)
		defer cancel()

		body := answer(next, r.WithContext(ctx))
		w.Header().Set("Content-Type", "application/json")
		// An error means that nobody listens any more.
		_, _ = w.Write(body)
	})
}

func answer(next http.Handler, r *http.Request) (body []byte) {
	defer func() {
		if p := recover(); p != nil {
			ctrl.Log.WithName("webhooks").Error(fmt.Errorf("panic: %v", p), "a webhook panicked", "path", r.URL.Path)
			body = internalError()
		}
	}()
	written := &buffered{header: http.Header{}}
	next.ServeHTTP(written, r)
	return wellFormed(written.Bytes())
}

// wellFormed adds the kind to what controller-runtime writes about a body that it could not decode:
// without it the API server would show its own puzzlement instead of our message.
func wellFormed(body []byte) []byte {
	if rest, ok := bytes.CutPrefix(body, []byte(`{"response":`)); ok {
		return append([]byte(`{"kind":"AdmissionReview","apiVersion":"`+admissionv1.SchemeGroupVersion.String()+`","response":`), rest...)
	}
	var review struct {
		metav1.TypeMeta
		Response json.RawMessage `json:"response"`
	}
	if err := json.Unmarshal(body, &review); err != nil || review.Kind != "AdmissionReview" || len(review.Response) == 0 {
		return internalError()
	}
	return body
}

func internalError() []byte {
	review := admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{Kind: "AdmissionReview", APIVersion: admissionv1.SchemeGroupVersion.String()},
		Response: &admissionv1.AdmissionResponse{Result: &metav1.Status{
			Status:  metav1.StatusFailure,
			Code:    http.StatusInternalServerError,
			Reason:  metav1.StatusReasonInternalError,
			Message: "the webhook failed to judge this request; its log says why; try again, and report it if it stays",
		}},
	}
	body, err := json.Marshal(review)
	if err != nil {
		panic(err) // The review is a constant.
	}
	return body
}

// buffered holds an answer back until it is known to be whole.
type buffered struct {
	bytes.Buffer
	header http.Header
}

func (b *buffered) Header() http.Header { return b.header }

// WriteHeader ignores the status: an AdmissionReview says everything in its body.
func (b *buffered) WriteHeader(int) {}
