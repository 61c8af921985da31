package main

import (
	"flag"
	"fmt"
	"io"
	"strconv"

	"github.com/go-logr/logr"
	"github.com/go-logr/zapr"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlzap "sigs.k8s.io/controller-runtime/pkg/log/zap"
)

const (
	formatJSON    = "json"
	formatConsole = "console"
	// mostVerbose is the highest V level that any library of Kubernetes logs at.
	mostVerbose = 10
)

var logFormats = []string{formatJSON, formatConsole}

// verbosity turns --log-level into zap's level, in which V(n) of logr is -n.
func verbosity(level string) (zapcore.Level, error) {
	switch level {
	case "error":
		return zapcore.ErrorLevel, nil
	case "warn":
		return zapcore.WarnLevel, nil
	case "info":
		return zapcore.InfoLevel, nil
	case "debug":
		return zapcore.DebugLevel, nil
	}
	n, err := strconv.Atoi(level)
	if err != nil || n < 0 || n > mostVerbose {
		return 0, fmt.Errorf("must be error, warn, info, debug, or a number from 0 to %d", mostVerbose)
	}
	return zapcore.Level(-n), nil
}

// setUpLogging makes one zap logger the sink of everything: ours, controller-runtime's, through klog
// client-go's, and through log net/http's. The level must be valid.
func setUpLogging(o options, w io.Writer) (logr.Logger, error) {
	level, err := verbosity(o.logLevel)
	if err != nil {
		return logr.Logger{}, err
	}
	readable := func(c *zapcore.EncoderConfig) { c.EncodeTime = zapcore.RFC3339NanoTimeEncoder }
	format := ctrlzap.JSONEncoder(readable)
	if o.logFormat == formatConsole {
		format = ctrlzap.ConsoleEncoder(readable)
	}
	raw := ctrlzap.NewRaw(ctrlzap.WriteTo(w), ctrlzap.Level(level), format, ctrlzap.StacktraceLevel(zapcore.DPanicLevel))
	if _, err := zap.RedirectStdLogAt(raw.Named("log"), zapcore.InfoLevel); err != nil {
		return logr.Logger{}, fmt.Errorf("redirect the standard logger: %w", err)
	}
	logger := zapr.NewLogger(raw)
	ctrl.SetLogger(logger)
	klog.SetLoggerWithOptions(logger.WithName("client-go"), klog.ContextualLogger(true))
	// klog filters by its own level before it hands a line on.
	flags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(flags)
	if err := flags.Set("v", strconv.Itoa(max(0, -int(level)))); err != nil {
		return logr.Logger{}, fmt.Errorf("set the level of klog: %w", err)
	}
	return logger, nil
}
