package controllers_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workloadv1alpha1 "github.com/gangway-serving/gangway/api/workload/v1alpha1"
	"github.com/gangway-serving/gangway/controllers/apply"
	gangwaytesting "github.com/gangway-serving/gangway/internal/testing"
	"github.com/gangway-serving/gangway/plan/children"
	"github.com/gangway-serving/gangway/plan/revision"
)

// benchPods is the number of Pods that are created.
const benchPods = 2000

// manyPods is a ModelServing of benchPods Pods in gangs of that size.
func manyPods(gang int) *workloadv1alpha1.ModelServing {
	return gangwaytesting.MakeModelServing("ms").Replicas(int32(benchPods / gang)).
		Role(gangwaytesting.MakeRole("main").Workers(int32(gang - 1)).Port(8000).Obj()).Obj()
}

// BenchmarkCreation compares the rate at which Gangway creates Pods, with their PodGroups, Services
// and Events, with the rate at which a bare client creates the same Pods and nothing else, with the
// same QPS setting and as many requests under way. The promise is a ratio of at least 0.8.
//
// Without a limit both are as fast as the processors, which the API server needs most of: a PodGroup
// costs it more than a Pod does, so that the size of the gangs decides. Gangs of 8 take 2,500 writes
// for 2,000 Pods.
func BenchmarkCreation(b *testing.B) {
	for _, c := range []struct {
		qps  float32
		gang int
	}{
		{qps: 100, gang: 8},
		{qps: 500, gang: 8},
		{qps: -1, gang: 8},
		{qps: -1, gang: 100},
	} {
		name := fmt.Sprintf("qps=%.0f/gang=%d", c.qps, c.gang)
		if c.qps < 0 {
			name = fmt.Sprintf("qps=unlimited/gang=%d", c.gang)
		}
		b.Run(name, func(b *testing.B) {
			var bare, ours time.Duration
			for b.Loop() {
				bare += createBare(b, c.qps, c.gang)
				ours += createOurs(b, c.qps, c.gang)
			}
			ratio := bare.Seconds() / ours.Seconds()
			pods := float64(benchPods * b.N)
			b.ReportMetric(pods/bare.Seconds(), "bare-pods/s")
			b.ReportMetric(pods/ours.Seconds(), "gangway-pods/s")
			b.ReportMetric(ratio, "ratio")
			if c.qps > 0 && ratio < 0.8 {
				b.Errorf("the ratio is %.2f; at least 0.8 is promised", ratio)
			}
		})
	}
}

// createBare creates the Pods with a bare client.
func createBare(b *testing.B, qps float32, gang int) time.Duration {
	b.Helper()
	config := rest.CopyConfig(shared.Config)
	config.QPS, config.Burst = qps, int(max(qps, 1))
	c, err := client.New(config, client.Options{Scheme: shared.Environment.Scheme})
	if err != nil {
		b.Fatal(err)
	}
	ms := manyPods(gang)
	ms.Namespace = shared.Namespace(b, nil)
	template := revision.Of(ms)
	work := make(chan children.PodID)
	var wg sync.WaitGroup
	began := time.Now()
	for range apply.DefaultParallel {
		wg.Go(func() {
			for id := range work {
				if err := c.Create(context.Background(), children.Pod(ms, template, "abc", id)); err != nil {
					b.Error(err)
				}
			}
		})
	}
	for g := range benchPods / gang {
		for n := range gang {
			work <- children.PodID{Group: g, Role: "main", Index: n}
		}
	}
	close(work)
	wg.Wait()
	return time.Since(began)
}

// createOurs creates a ModelServing and takes the time until the last Pod is created.
func createOurs(b *testing.B, qps float32, gang int) time.Duration {
	b.Helper()
	w := &world{
		TB: b, server: shared, client: shared.Client, ns: shared.Namespace(b, nil),
		clock: &shiftedClock{}, net: &network{}, qps: qps,
	}
	all := make(chan struct{})
	created := 0
	w.net.answered = func(req *http.Request, status int) {
		if req.Method == http.MethodPost && strings.HasSuffix(req.URL.Path, "/pods") && status == http.StatusCreated {
			if created++; created == benchPods {
				close(all)
			}
		}
	}
	w.start()
	defer func() { w.stop() }()
	w.atWork() // The bare client has no caches to fill.
	ms := manyPods(gang)
	began := time.Now()
	w.create(ms)
	<-all
	return time.Since(began)
}

// BenchmarkRest restarts the manager over 200 ModelServings of 10 Pods each that are at rest, and
// has it resync. The promise is not one write.
func BenchmarkRest(b *testing.B) {
	const many = 200
	w := newWorldOn(b, shared)
	w.start()
	var all []*workloadv1alpha1.ModelServing
	for i := range many {
		ms := gangwaytesting.MakeModelServing(fmt.Sprintf("ms-%d", i)).
			Role(gangwaytesting.MakeRole("prefill").Replicas(3).Workers(1).Obj()).
			Role(gangwaytesting.MakeRole("decode").Replicas(2).Workers(1).Obj()).Obj()
		w.create(ms)
		all = append(all, ms)
	}
	for _, ms := range all {
		w.available(ms, 1)
	}
	w.stop()
	w.resync = ptr.To(2 * time.Second)
	var passes, writes int64
	for b.Loop() {
		before, wrote := w.clock.passes.Load(), len(w.net.writes())
		w.start()
		w.eventually("a start and two resyncs", func() error {
			if got := w.clock.passes.Load() - before; got < 3*many {
				return fmt.Errorf("%d passes", got)
			}
			return nil
		})
		w.stop()
		passes += w.clock.passes.Load() - before
		writes += int64(len(w.net.writes()) - wrote)
	}
	b.ReportMetric(float64(passes)/float64(b.N), "passes/op")
	b.ReportMetric(float64(writes)/float64(b.N), "writes/op")
	if writes > 0 {
		b.Errorf("%d writes at rest", writes)
	}
}
