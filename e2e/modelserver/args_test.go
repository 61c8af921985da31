package modelserver

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFromArgs(t *testing.T) {
	type result struct {
		Options Options
		Port    int
		Err     string
	}
	tests := map[string]struct {
		args []string
		want result
	}{
		"flag and value as elements of their own": {
			args: []string{"--model", "/data/m", "--served-model-name", "llm", "--port", "9000", "--dtype", "auto"},
			want: result{Options: Options{Models: []string{"llm"}, Root: "/data/m"}, Port: 9000},
		},
		"flag and value in one": {
			args: []string{"--model=/data/m", "--served-model-name=llm", "--port=9000"},
			want: result{Options: Options{Models: []string{"llm"}, Root: "/data/m"}, Port: 9000},
		},
		"the model's path is its name without another one, and the port is vLLM's": {
			args: []string{"--model", "/data/m"},
			want: result{Options: Options{Models: []string{"/data/m"}, Root: "/data/m"}, Port: 8000},
		},
		"a model may have several names": {
			args: []string{"--served-model-name", "a", "b", "--model", "m"},
			want: result{Options: Options{Models: []string{"a", "b"}, Root: "m"}, Port: 8000},
		},
		"of two equal flags the last counts": {
			args: []string{"--model", "m", "--port", "1", "--port", "2"},
			want: result{Options: Options{Models: []string{"m"}, Root: "m"}, Port: 2},
		},
		"a program that is no model server": {
			args: []string{"sleep", "infinity"},
			want: result{Err: ErrNoModel.Error()},
		},
		"a port that is no number":  {args: []string{"--model", "m", "--port", "x"}, want: result{Err: `--port is "x"; give a number from 1 to 65535`}},
		"a port that is too high":   {args: []string{"--model", "m", "--port=65536"}, want: result{Err: `--port is "65536"; give a number from 1 to 65535`}},
		"a flag at the very end":    {args: []string{"--model"}, want: result{Err: "--model has no value"}},
		"a flag followed by a flag": {args: []string{"--model", "--port", "1"}, want: result{Err: "--model has no value"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			o, port, err := FromArgs(tc.args)
			got := result{Options: o, Port: port}
			if err != nil {
				got.Err = err.Error()
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("FromArgs(%q) (-want +got):\n%s", tc.args, diff)
			}
		})
	}
}
