# The queue through which Karpenter hears that an instance is about to go, and the rules that fill it.

resource "aws_sqs_queue" "interruption" {
  count                     = var.interruption_queue ? 1 : 0
  name                      = local.bounded.queue
  message_retention_seconds = 300
  sqs_managed_sse_enabled   = true
}

resource "aws_sqs_queue_policy" "interruption" {
  count     = var.interruption_queue ? 1 : 0
  queue_url = aws_sqs_queue.interruption[0].url
  policy    = templatefile("${path.module}/policies/queue.json.tftpl", { queue_arn = aws_sqs_queue.interruption[0].arn })
}

resource "aws_cloudwatch_event_rule" "interruption" {
  for_each      = local.event_rules
  name          = local.bounded[each.key]
  description   = each.value.about
  event_pattern = jsonencode({ source = [each.value.source], detail-type = [each.value.type] })
}

resource "aws_cloudwatch_event_target" "interruption" {
  for_each  = aws_cloudwatch_event_rule.interruption
  rule      = each.value.name
  target_id = "KarpenterInterruptionQueueTarget"
  arn       = aws_sqs_queue.interruption[0].arn
}
