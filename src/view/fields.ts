// Where a Terraform variable comes from, for people: an error that names `var.vpc_cidr` is shown with
// `spec.vpcConfig.cidr of CAPTCluster demo`. Pure.
import { fieldOfVariable, type WorkspaceTemplateApply } from '#api'

/** The text with every variable that a field sets named by that field. */
export const nameFields = (text: string, apply: WorkspaceTemplateApply): string =>
  text.replace(/\bvar\.([A-Za-z_][\w-]*)/g, (whole, name: string) => fieldOfVariable(apply, name) ?? whole)
