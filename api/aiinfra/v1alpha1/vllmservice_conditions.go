package v1alpha1

// Condition types of a VLLMService.
const (
	// ConditionReady sums the others up in one word, for kstatus, Argo CD and kubectl wait.
	// MonitoringReady does not count: a model that nobody scrapes serves all the same.
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

// Reasons of a VLLMService's conditions. Those of RouteReady are ModelServing's.
const (
	// ReasonReady: everything that was asked for is there.
	ReasonReady = "Ready"
	// ReasonReplicasReady: every wanted replica is Ready.
	ReasonReplicasReady = "ReplicasReady"
	// ReasonReplicasNotReady: some replicas are not Ready yet.
	ReasonReplicasNotReady = "ReplicasNotReady"
	// ReasonScaledToZero: no replica is wanted and none is there.
	ReasonScaledToZero = "ScaledToZero"
	// ReasonDeploymentProgressing: the Deployment is being made or rolled out.
	ReasonDeploymentProgressing = "DeploymentProgressing"
	// ReasonRolledOut: the Deployment runs the current spec and no other.
	ReasonRolledOut = "RolledOut"
	// ReasonProgressDeadlineExceeded: the rollout stands still for longer than the start-up budget.
	ReasonProgressDeadlineExceeded = "ProgressDeadlineExceeded"
	// ReasonReplicaFailure: Pods cannot be made, in the API server's words (quota, admission).
	ReasonReplicaFailure = "ReplicaFailure"
	// ReasonNameConflict: an object that is not ours has a name that is needed.
	ReasonNameConflict = "NameConflict"
	// ReasonCreateFailed: the API server refused an object, in its words.
	ReasonCreateFailed = "CreateFailed"
	// ReasonTerminating: an earlier object of that name is still being deleted.
	ReasonTerminating = "Terminating"
	// ReasonPVCBound: the PersistentVolumeClaim is bound.
	ReasonPVCBound = "PVCBound"
	// ReasonPVCNotFound: there is no PersistentVolumeClaim of that name.
	ReasonPVCNotFound = "PVCNotFound"
	// ReasonPVCNotBound: the PersistentVolumeClaim waits for a volume.
	ReasonPVCNotBound = "PVCNotBound"
	// ReasonPVCLost: the volume of the PersistentVolumeClaim is gone.
	ReasonPVCLost = "PVCLost"
	// ReasonServiceMonitorReady: the ServiceMonitor exists.
	ReasonServiceMonitorReady = "ServiceMonitorReady"
	// ReasonPrometheusOperatorNotInstalled: the ServiceMonitor CRD is missing.
	ReasonPrometheusOperatorNotInstalled = "PrometheusOperatorNotInstalled"
)
