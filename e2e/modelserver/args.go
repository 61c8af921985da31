package modelserver

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// DefaultPort is vLLM's.
const DefaultPort = 8000

// ErrNoModel is what FromArgs gives when the arguments name no model: no model server is meant.
var ErrNoModel = errors.New("the arguments name no model; give --model")

// FromArgs reads vLLM's own arguments: --model, --served-model-name (one or more names; default
// the model) and --port, in both spellings "--flag value" and "--flag=value"; of two equal flags
// the last counts, and every other flag is passed over.
func FromArgs(args []string) (o Options, port int, err error) {
	port = DefaultPort
	for i := 0; i < len(args); i++ {
		flag, value, inline := strings.Cut(args[i], "=")
		values := []string{value}
		if !inline {
			values = nil
			for j := i + 1; j < len(args) && !strings.HasPrefix(args[j], "--"); j++ {
				values = append(values, args[j])
			}
		}
		switch flag {
		case "--model", "--served-model-name", "--port":
		default:
			continue
		}
		if len(values) == 0 || values[0] == "" {
			return Options{}, 0, fmt.Errorf("%s has no value", flag)
		}
		switch flag {
		case "--model":
			o.Root = values[0]
		case "--served-model-name":
			o.Models = values
		case "--port":
			if port, err = strconv.Atoi(values[0]); err != nil || port < 1 || port > 65535 {
				return Options{}, 0, fmt.Errorf("--port is %q; give a number from 1 to 65535", values[0])
			}
		}
	}
	if len(o.Models) == 0 {
		if o.Root == "" {
			return Options{}, 0, ErrNoModel
		}
		o.Models = []string{o.Root}
	}
	return o, port, nil
}
