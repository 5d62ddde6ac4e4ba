// Notification: the few events that people want to read elsewhere, posted to a webhook.
export { httpPost } from './http-post.ts'
export { createNotifier, notifying } from './notifier.ts'
