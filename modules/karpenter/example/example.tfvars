project = "demo"
env     = "dev"
region  = "ap-northeast-2"

# Everything about the cluster is looked up by its name.
eks_cluster_name = "demo"

# The controller belongs on nodes that Karpenter did not make.
affinity = {
  nodeAffinity = {
    requiredDuringSchedulingIgnoredDuringExecution = {
      nodeSelectorTerms = [{
        matchExpressions = [{
          key      = "eks.amazonaws.com/nodegroup"
          operator = "In"
          values   = ["system"]
        }]
      }]
    }
  }
}

tolerations = [{
  key      = "CriticalAddonsOnly"
  operator = "Exists"
}]
