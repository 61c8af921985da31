package certs

import (
	"bytes"
	"errors"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	gangwaytesting "github.com/gangway-serving/gangway/internal/testing"
)

// installed are the options by which the shipped manifests run Gangway.
var installed = Options{Namespace: "gangway-system", ServiceName: "gangway-webhook"}

// manifests are the objects of a kustomization.
type manifests []*unstructured.Unstructured

// rendered holds what was rendered before, since that takes a while.
var rendered = map[string]manifests{}

func render(t *testing.T, folder string) manifests {
	t.Helper()
	if all, ok := rendered[folder]; ok {
		return all
	}
	root, err := gangwaytesting.Root()
	if err != nil {
		t.Fatal(err)
	}
	assets, err := gangwaytesting.Assets()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), filepath.Join(assets, "kubectl"), "kustomize", filepath.Join(root, folder)).Output()
	if err != nil {
		t.Fatalf("render %s: %v", folder, err)
	}
	var all manifests
	for docs := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(out), 4096); ; {
		u := &unstructured.Unstructured{}
		if err := docs.Decode(&u.Object); errors.Is(err, io.EOF) {
			rendered[folder] = all
			return all
		} else if err != nil {
			t.Fatalf("render %s: %v", folder, err)
		}
		all = append(all, u)
	}
}

// object is the one of that kind and name.
func (m manifests) object(t *testing.T, kind, name string) *unstructured.Unstructured {
	t.Helper()
	i := slices.IndexFunc(m, func(u *unstructured.Unstructured) bool { return u.GetKind() == kind && u.GetName() == name })
	if i < 0 {
		t.Fatalf("there is no %s %q", kind, name)
	}
	return m[i]
}

// find reads an object into its type, which must know every field.
func (m manifests) find(t *testing.T, kind, name string, obj any) {
	t.Helper()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(m.object(t, kind, name).Object, obj, true); err != nil {
		t.Fatalf("%s %q: %v", kind, name, err)
	}
}

// injectedFrom names the Certificates whose CA cert-manager writes into the webhook configurations.
func (m manifests) injectedFrom(t *testing.T) []string {
	t.Helper()
	return []string{
		m.object(t, "ValidatingWebhookConfiguration", ValidatingConfiguration).GetAnnotations()[injectedByCertManager],
		m.object(t, "MutatingWebhookConfiguration", MutatingConfiguration).GetAnnotations()[injectedByCertManager],
	}
}

func equal(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestSelfManagedManifests(t *testing.T) {
	m := render(t, "config/default")
	var d appsv1.Deployment
	m.find(t, "Deployment", "gangway", &d)
	equal(t, "arguments", []string{"--cert-mode=self-managed"}, d.Spec.Template.Spec.Containers[0].Args)
	equal(t, "whose CA is injected", []string{"", ""}, m.injectedFrom(t))
	var role rbacv1.Role
	m.find(t, "Role", "gangway", &role)
	equal(t, "rights in the namespace", []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"create"}},
		{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{SecretName}, Verbs: []string{"get", "list", "update", "watch"}},
	}, role.Rules)
}

// TestWebhookManifests is about what both modes share: whom the API server calls, and for whom it never
// does, so that a cluster that restarts from nothing comes up.
func TestWebhookManifests(t *testing.T) {
	m := render(t, "config/default")
	var service corev1.Service
	m.find(t, "Service", installed.ServiceName, &service)
	equal(t, "namespace of the Service", installed.Namespace, service.Namespace)

	var validating admissionregistrationv1.ValidatingWebhookConfiguration
	var mutating admissionregistrationv1.MutatingWebhookConfiguration
	m.find(t, "ValidatingWebhookConfiguration", ValidatingConfiguration, &validating)
	m.find(t, "MutatingWebhookConfiguration", MutatingConfiguration, &mutating)
	exempt := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
		Key: corev1.LabelMetadataName, Operator: metav1.LabelSelectorOpNotIn, Values: []string{metav1.NamespaceSystem, installed.Namespace},
	}}}
	selectors := map[string]*metav1.LabelSelector{}
	for _, w := range validating.Webhooks {
		selectors[w.Name] = w.NamespaceSelector
	}
	for _, w := range mutating.Webhooks {
		selectors[w.Name] = w.NamespaceSelector
	}
	equal(t, "namespaces", map[string]*metav1.LabelSelector{
		"modelserving.gangway.dev": exempt, "modelserving-scale.gangway.dev": exempt, "vllmservice.gangway.dev": exempt, "pod.gangway.dev": exempt,
	}, selectors)
	for _, config := range append(clientConfigs(&validating), clientConfigs(&mutating)...) {
		equal(t, "Service", installed.Namespace+"/"+installed.ServiceName, config.Service.Namespace+"/"+config.Service.Name)
		equal(t, "caBundle", []byte(nil), config.CABundle)
	}
}

// TestCertManagerManifests follows the trust from the webhook configurations back to its root.
func TestCertManagerManifests(t *testing.T) {
	m := render(t, "config/certmanager")
	var serving, ca certmanagerv1.Certificate
	m.find(t, "Certificate", "gangway-serving", &serving)
	name := serving.Namespace + "/" + serving.Name
	equal(t, "whose CA is injected", []string{name, name}, m.injectedFrom(t))
	equal(t, "names that the certificate covers", hosts(installed), serving.Spec.DNSNames)

	var issuer, root certmanagerv1.Issuer
	m.find(t, "Issuer", serving.Spec.IssuerRef.Name, &issuer)
	if issuer.Spec.CA == nil {
		t.Fatalf("Issuer %q signs by no CA: %+v", issuer.Name, issuer.Spec)
	}
	m.find(t, "Certificate", "gangway-ca", &ca)
	equal(t, "Secret of the CA", ca.Spec.SecretName, issuer.Spec.CA.SecretName)
	if !ca.Spec.IsCA {
		t.Errorf("Certificate %q is no CA", ca.Name)
	}
	m.find(t, "Issuer", ca.Spec.IssuerRef.Name, &root)
	if root.Spec.SelfSigned == nil {
		t.Errorf("Issuer %q is not self-signed: %+v", root.Name, root.Spec)
	}

	var d appsv1.Deployment
	m.find(t, "Deployment", "gangway", &d)
	pod := d.Spec.Template.Spec
	equal(t, "Secret that is mounted", serving.Spec.SecretName, pod.Volumes[0].Secret.SecretName)
	if serving.Spec.SecretName == SecretName {
		t.Errorf("Secret %q is that of the self-managed mode", SecretName)
	}
	equal(t, "volume", pod.Volumes[0].Name, pod.Containers[0].VolumeMounts[0].Name)
	equal(t, "arguments", []string{"--cert-mode=cert-manager", "--cert-dir=" + pod.Containers[0].VolumeMounts[0].MountPath}, pod.Containers[0].Args)
}

// TestManifestsAreAccepted asks the API server, which refuses a field that it does not know.
func TestManifestsAreAccepted(t *testing.T) {
	root, err := gangwaytesting.Root()
	if err != nil {
		t.Fatal(err)
	}
	_, err = envtest.InstallCRDs(server.Config, envtest.CRDInstallOptions{
		Scheme: gangwaytesting.Scheme(), Paths: []string{filepath.Join(root, "bin", "manifests", "cert-manager")}, ErrorIfPathMissing: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: installed.Namespace}}
	if err := server.Client.Create(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"config/default", "config/certmanager"} {
		for _, u := range render(t, folder) {
			if u.GetKind() == "CustomResourceDefinition" || u.GetKind() == "Namespace" {
				continue // they are there, and everything else needs them
			}
			if err := server.Client.Create(t.Context(), u.DeepCopy(), client.DryRunAll, client.FieldValidation(metav1.FieldValidationStrict)); err != nil {
				t.Errorf("%s: create %s %q: %v", folder, u.GetKind(), u.GetName(), err)
			}
		}
	}
}
