// Where a Terraform variable comes from, for people: the field of the object that sets it. An error that names
// `var.vpc_cidr` is shown with `spec.vpcConfig.cidr of CAPTCluster demo`. Pure.
import { TERRAFORM_FIELDS, type TerraformField, type WorkspaceTemplateApply } from '#api'
import { ownValue } from '#lib'

const FIELDS: Readonly<Record<string, readonly TerraformField[]>> = TERRAFORM_FIELDS

/** The text with every variable that a field sets named by that field. */
export function nameFields(text: string, { metadata, spec }: WorkspaceTemplateApply): string {
  const owner = metadata.ownerReferences?.find(({ kind }) => ownValue(FIELDS, kind) !== undefined)
  const fieldOf = (name: string): string | undefined => {
    if (owner) {
      const row = FIELDS[owner.kind]!.find(({ variable }) => variable === name)
      return row && `spec.${row.field} of ${owner.kind} ${owner.name}`
    }
    const home = (['values', 'variables'] as const).find((one) => Object.hasOwn(spec[one] ?? {}, name))
    return home && `spec.${home}.${name}`
  }
  return text.replace(/\bvar\.([A-Za-z_][\w-]*)/g, (whole, name: string) => fieldOf(name) ?? whole)
}
