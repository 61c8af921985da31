package gangwaytesting

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/util/sets"
)

// assetsEnv is the variable with which controller-runtime's envtest, and we, are told where
// etcd and kube-apiserver are.
const assetsEnv = "KUBEBUILDER_ASSETS"

// Root is the folder of the repository: the nearest one above the working directory that holds
// go.mod.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("no go.mod above the working directory: run the tests inside the repository")
		}
		dir = parent
	}
}

// Assets is the folder of etcd and kube-apiserver: $KUBEBUILDER_ASSETS or else bin/assets, where
// make puts them. A nil error promises that both are there.
func Assets() (string, error) {
	dir := os.Getenv(assetsEnv)
	if dir == "" {
		root, err := Root()
		if err != nil {
			return "", err
		}
		dir = filepath.Join(root, "bin", "assets")
	}
	for _, program := range []string{"etcd", "kube-apiserver"} {
		if _, err := os.Stat(filepath.Join(dir, program)); err != nil {
			return "", fmt.Errorf("%s is not in %s: run `make tools`, or set %s to a folder that has etcd and kube-apiserver",
				program, dir, assetsEnv)
		}
	}
	return dir, nil
}

// crdFiles are the CRD files that a test's API server serves: our own, and those of the projects
// that are not left out.
func crdFiles(without sets.Set[Optional]) ([]string, error) {
	root, err := Root()
	if err != nil {
		return nil, err
	}
	patterns := []string{"config/crd/bases/*.yaml"}
	for _, project := range []Optional{Volcano, GatewayAPI} {
		if !without.Has(project) {
			patterns = append(patterns, project.pattern())
		}
	}
	var files []string
	for _, pattern := range patterns {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("no CRD matches %s: run `make tools generate`", pattern)
		}
		files = append(files, found...)
	}
	return files, nil
}
