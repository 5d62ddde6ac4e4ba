// The names that the whole script uses, so that its sections build on each other.
import { WIDGETS } from '../../../src/apiserver/started.ts'

export const NAMESPACE = 'parity'
export const CORE = `/api/v1/namespaces/${NAMESPACE}`
export const CONFIGS = `${CORE}/configmaps`
export const SECRETS = `${CORE}/secrets`
export const PODS = `${CORE}/pods`
export const LEASES = `/apis/coordination.k8s.io/v1/namespaces/${NAMESPACE}/leases`
export const DEPLOYMENTS = `/apis/apps/v1/namespaces/${NAMESPACE}/deployments`
export const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
export const THINGS = WIDGETS.replace('/default/', `/${NAMESPACE}/`)
export const NOBODY = '00000000-0000-4000-8000-ffffffffffff'

export const config = (name: string, over: object = {}) => ({ metadata: { name }, ...over })
