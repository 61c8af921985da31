package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"log"
	"strings"
	"testing"
	"time"

	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
)

func TestEverythingIsLoggedInOnePlace(t *testing.T) {
	var out bytes.Buffer
	logger, err := setUpLogging(options{logLevel: "info", logFormat: formatJSON}, &out)
	if err != nil {
		t.Fatal(err)
	}
	logger.Info("ours", "replicas", 3)
	logger.V(1).Info("too detailed")
	ctrl.Log.WithName("runtime").Error(errors.New("broken"), "theirs")
	klog.InfoS("of client-go", "kind", "Pod")
	klog.V(1).InfoS("too detailed")
	klog.Flush()
	log.Print("of net/http")
	var messages []string
	for line := range strings.Lines(out.String()) {
		var entry struct {
			Level, Msg string
			TS         time.Time
		}
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Fatalf("a line is not as it should be: %v: %s", err, line)
		}
		messages = append(messages, entry.Level+" "+entry.Msg)
	}
	want := "info ours, error theirs, info of client-go, info of net/http"
	if got := strings.Join(messages, ", "); got != want {
		t.Errorf("messages = %q, want %q", got, want)
	}
}

func TestLogLevels(t *testing.T) {
	tests := map[string]string{
		"error": "error",
		"warn":  "error",
		"info":  "error info",
		"0":     "error info",
		"debug": "error info v1 klog1",
		"1":     "error info v1 klog1",
		"3":     "error info v1 klog1 v3 klog3",
		"10":    "error info v1 klog1 v3 klog3",
	}
	for level, want := range tests {
		t.Run(level, func(t *testing.T) {
			var out bytes.Buffer
			logger, err := setUpLogging(options{logLevel: level, logFormat: formatConsole}, &out)
			if err != nil {
				t.Fatal(err)
			}
			logger.Error(nil, "<error>")
			logger.Info("<info>")
			logger.V(1).Info("<v1>")
			klog.V(1).Info("<klog1>")
			logger.V(3).Info("<v3>")
			klog.V(3).Info("<klog3>")
			var got []string
			for _, word := range strings.Fields(out.String()) {
				if strings.HasPrefix(word, "<") {
					got = append(got, strings.Trim(word, "<>"))
				}
			}
			if strings.Join(got, " ") != want {
				t.Errorf("logged %q, want %q", got, want)
			}
		})
	}
}
