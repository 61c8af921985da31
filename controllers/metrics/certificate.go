package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	crmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
)

var certificateExpiry = prometheus.NewGauge(prometheus.GaugeOpts{
	Name: prefix + "webhook_certificate_expiry_timestamp_seconds",
	Help: "Unix time at which the certificate that the webhook server presents expires; 0 while there is none.",
})

func init() { crmetrics.Registry.MustRegister(certificateExpiry) }

// Presented records the expiry of the certificate that the webhook server presents from now on.
func Presented(notAfter time.Time) { certificateExpiry.Set(float64(notAfter.Unix())) }
