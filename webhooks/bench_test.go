package webhooks_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/webhooks"
)

const (
	benchModelServings = 1000
	benchGateways      = 200
	benchRate          = 200 // requests a second
)

// crowded is a bed with many objects in the manager's cache.
func crowded(b *testing.B) (*bed, string) {
	b.Helper()
	bed := theBed(b)
	ns := bed.Namespace(b, nil)
	create := func(n int, object func(i int) client.Object) {
		failed := make([]error, n)
		workqueue.ParallelizeUntil(context.Background(), 8, n, func(i int) {
			failed[i] = bed.Client.Create(context.Background(), object(i))
		})
		for _, err := range failed {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
	create(benchGateways, func(i int) client.Object {
		g := &gatewayv1.Gateway{}
		g.Name, g.Namespace, g.Spec.GatewayClassName = numbered("gateway-", i), ns, "test"
		host := gatewayv1.Hostname("*.example.com")
		g.Spec.Listeners = []gatewayv1.Listener{{Name: "http", Port: 80, Protocol: gatewayv1.HTTPProtocolType, Hostname: &host}}
		return g
	})
	create(benchModelServings, func(i int) client.Object { return benchModelServing(ns, i) })
	eventually(b, func(ctx context.Context) error {
		var stored workloadv1alpha1.ModelServingList
		if err := bed.manager.GetCache().List(ctx, &stored, client.InNamespace(ns)); err != nil {
			return err
		}
		if len(stored.Items) < benchModelServings {
			return errNotYet
		}
		return nil
	})
	return bed, ns
}

func benchModelServing(ns string, i int) *workloadv1alpha1.ModelServing {
	ms := in(ns, quiet(numbered("sample-", i)))
	ms.Spec.GatewayRef = &workloadv1alpha1.GatewayReference{
		Name: numbered("gateway-", i%benchGateways), SectionName: "http", Host: fmt.Sprintf("model-%d.example.com", i),
	}
	return ms
}

// BenchmarkAdmission measures whole answers as the API server would get them, over one kept-alive TLS
// connection after another: TLS, decoding, look-ups in the cache, the answer. Requests come at a
// fixed rate, whether or not earlier ones are answered.
//
//	go test ./webhooks -run '^$' -bench Admission -benchtime 2000x
func BenchmarkAdmission(b *testing.B) {
	bed, ns := crowded(b)
	httpClient := likeAnAPIServer(b, bed)
	ms := &workloadv1alpha1.ModelServing{}
	if err := bed.Client.Get(context.Background(), client.ObjectKey{Namespace: ns, Name: "sample-0"}, ms); err != nil {
		b.Fatal(err)
	}
	for _, path := range []struct {
		name, url string
		body      func(i int) []byte
	}{
		{"ModelServing", webhooks.PathModelServing, func(i int) []byte {
			return request(b, ns, benchModelServing(ns, benchModelServings+i))
		}},
		{"Pod", webhooks.PathPod, func(i int) []byte {
			return request(b, ns, groupPod(ms, numbered("sample-0-prefill-0-", i)))
		}},
	} {
		b.Run(path.name, func(b *testing.B) {
			hooks := bed.Environment.WebhookInstallOptions
			url := "https://" + net.JoinHostPort(hooks.LocalServingHost, strconv.Itoa(hooks.LocalServingPort)) + path.url
			bodies := make([][]byte, b.N)
			for i := range bodies {
				bodies[i] = path.body(i)
			}
			took := make([]time.Duration, b.N)
			refused := make([]error, b.N)
			var all sync.WaitGroup
			ticker := time.NewTicker(time.Second / benchRate)
			defer ticker.Stop()
			b.ResetTimer()
			for i := range b.N {
				<-ticker.C
				all.Go(func() {
					start := time.Now()
					refused[i] = post(httpClient, url, bodies[i])
					took[i] = time.Since(start)
				})
			}
			all.Wait()
			b.StopTimer()
			for _, err := range refused {
				if err != nil {
					b.Fatal(err)
				}
			}
			report(b, took)
		})
	}
}

func report(b *testing.B, took []time.Duration) {
	slices.Sort(took)
	ms := func(q float64) float64 {
		return float64(took[int(q*float64(len(took)-1))]) / float64(time.Millisecond)
	}
	b.ReportMetric(ms(0.5), "ms-median")
	b.ReportMetric(ms(0.99), "ms-p99")
}

func likeAnAPIServer(b *testing.B, bed *bed) *http.Client {
	b.Helper()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(bed.Environment.WebhookInstallOptions.LocalServingCAData)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 100}
	b.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: 10 * time.Second}
}

func request(b *testing.B, ns string, obj client.Object) []byte {
	b.Helper()
	if gvk, err := shared.bed.Client.GroupVersionKindFor(obj); err == nil {
		obj.GetObjectKind().SetGroupVersionKind(gvk)
	}
	raw, err := json.Marshal(obj)
	if err != nil {
		b.Fatal(err)
	}
	review := admissionv1.AdmissionReview{Request: &admissionv1.AdmissionRequest{
		UID: "u", Operation: admissionv1.Create, Namespace: ns, Name: obj.GetName(), Object: runtime.RawExtension{Raw: raw},
	}}
	review.SetGroupVersionKind(admissionv1.SchemeGroupVersion.WithKind("AdmissionReview"))
	body, err := json.Marshal(review)
	if err != nil {
		b.Fatal(err)
	}
	return body
}

func post(c *http.Client, url string, body []byte) error {
	resp, err := c.Post(url, "application/json", bytes.NewReader(body))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(answer, &review); err != nil {
		return err
	}
	if !review.Response.Allowed || len(review.Response.Warnings) > 0 {
		return fmt.Errorf("not a plain yes: %s", answer)
	}
	return nil
}

// BenchmarkPodCreate measures what the webhook adds to the creation of a Pod: Pods of a group and
// other Pods are created by turns, and the ratio of their times is reported.
func BenchmarkPodCreate(b *testing.B) {
	bed, ns := crowded(b)
	ms := &workloadv1alpha1.ModelServing{}
	if err := bed.Client.Get(context.Background(), client.ObjectKey{Namespace: ns, Name: "sample-0"}, ms); err != nil {
		b.Fatal(err)
	}
	var with, without []time.Duration
	b.ResetTimer()
	for i := range b.N {
		// The same Pod but for one of the two labels that the webhook is selected by.
		plain := groupPod(ms, numbered("plain-", i))
		plain.Labels["other"] = plain.Labels["modelserving.volcano.sh/group-name"]
		delete(plain.Labels, "modelserving.volcano.sh/group-name")
		for _, c := range []struct {
			pod  client.Object
			took *[]time.Duration
		}{{groupPod(ms, numbered("member-", i)), &with}, {plain, &without}} {
			start := time.Now()
			if err := bed.Client.Create(context.Background(), c.pod); err != nil {
				b.Fatal(err)
			}
			*c.took = append(*c.took, time.Since(start))
		}
	}
	b.StopTimer()
	slices.Sort(with)
	slices.Sort(without)
	median := func(d []time.Duration) float64 { return float64(d[len(d)/2]) / float64(time.Millisecond) }
	b.ReportMetric(median(with), "ms-with")
	b.ReportMetric(median(without), "ms-without")
	b.ReportMetric(median(with)/median(without), "ratio")
}
