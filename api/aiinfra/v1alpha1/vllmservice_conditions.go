package v1alpha1

// Condition types of a VLLMService.
const (
	// ConditionReady sums the others up in one word, for kstatus, Argo CD and kubectl wait.
	ConditionReady = "Ready"
	// ConditionAvailable is True when every wanted replica is Ready.
	ConditionAvailable = "Available"
	// ConditionDeploymentReady speaks of the Deployment and its rollout.
	ConditionDeploymentReady = "DeploymentReady"
	// ConditionStorageReady is True when the PersistentVolumeClaim is bound.
	ConditionStorageReady = "StorageReady"
	// ConditionRouteReady is True when the Gateway has accepted the route. Only with a gatewayRef.
	ConditionRouteReady = "RouteReady"
	// ConditionMonitoringReady is True when the ServiceMonitor exists. Only with monitoring enabled.
	ConditionMonitoringReady = "MonitoringReady"
)
