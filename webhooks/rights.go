package webhooks

import (
	"context"
	"fmt"
	"net/http"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	authorizationv1client "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// rights asks the API server what a requester may read, by SubjectAccessReview, and remembers the
// answer for a short while.
type rights struct {
	authorizer authorizer.Authorizer
}

const (
	rememberAllowed = 30 * time.Second
	rememberDenied  = 5 * time.Second
)

func newRights(config *rest.Config, httpClient *http.Client) (*rights, error) {
	reviews, err := authorizationv1client.NewForConfigAndClient(config, httpClient)
	if err != nil {
		return nil, fmt.Errorf("make a client for SubjectAccessReviews: %w", err)
	}
	a, err := authorizerfactory.DelegatingAuthorizerConfig{
		SubjectAccessReviewClient: reviews,
		AllowCacheTTL:             rememberAllowed,
		DenyCacheTTL:              rememberDenied,
		WebhookRetryBackoff:       &wait.Backoff{Duration: 50 * time.Millisecond, Factor: 2, Steps: 2},
	}.New()
	if err != nil {
		return nil, fmt.Errorf("make an authorizer: %w", err)
	}
	return &rights{a}, nil
}

// mayGetGateway is false when it could not be found out.
func (r *rights) mayGetGateway(ctx context.Context, who *authenticationv1.UserInfo, namespace, name string) (bool, error) {
	extra := make(map[string][]string, len(who.Extra))
	for k, v := range who.Extra {
		extra[k] = v
	}
	decision, _, err := r.authorizer.Authorize(ctx, authorizer.AttributesRecord{
		User:            &user.DefaultInfo{Name: who.Username, UID: who.UID, Groups: who.Groups, Extra: extra},
		Verb:            "get",
		Namespace:       namespace,
		APIGroup:        gatewayv1.GroupName,
		APIVersion:      gatewayv1.GroupVersion.Version,
		Resource:        "gateways",
		Name:            name,
		ResourceRequest: true,
	})
	if err != nil {
		return false, fmt.Errorf("ask whether %q may get Gateway %s/%s: %w", who.Username, namespace, name, err)
	}
	return decision == authorizer.DecisionAllow, nil
}
