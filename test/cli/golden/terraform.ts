// Command lines of the group "Terraform".
import type { Table } from '../../support/golden/table.ts'

const CLOSED = '--kubeconfig FOLDER/closed.yaml'

export const TERRAFORM: Table = {
  plan: {
    normal: ['plan blog-vpc'],
    json: ['plan blog-vpc -o json'],
    error: ['plan', 'plan ghost', 'plan shop-vpc --wait 1s', 'plan blog-vpc -o wide', `plan blog-vpc ${CLOSED}`],
  },
  approve: {
    normal: ['approve blog-vpc --plan 6f1c2d3e', 'approve blog-vpc --deny'],
    error: [
      'approve',
      'approve blog-vpc',
      'approve ghost --deny',
      'approve shop-vpc --deny',
      'approve blog-vpc --plan 00000000',
      `approve blog-vpc --deny ${CLOSED}`,
    ],
  },
  logs: {
    normal: [
      'logs blog-vpc',
      'logs blog-vpc --tail 1',
      'logs blog-vpc --since 9m',
      'logs blog-vpc --list',
      'logs shop-vpc --list',
      'logs shop',
    ],
    error: [
      'logs',
      'logs ghost',
      'logs scratch',
      'logs captcluster/shop',
      'logs blog-vpc --run 99',
      'logs shop --list',
      'logs blog-vpc --tail all',
      'logs blog-vpc --since yesterday',
      `logs blog-vpc ${CLOSED}`,
    ],
  },
  retry: {
    normal: ['retry shop-vpc', 'retry adeliv blog'],
    error: [
      'retry',
      'retry ghost',
      'retry adeliv ghost',
      'retry cluster shop',
      'retry adeliv blog --clear-suspects',
      `retry shop-vpc ${CLOSED}`,
    ],
  },
  cancel: {
    normal: ['cancel shop-vpc'],
    error: ['cancel', 'cancel ghost', 'cancel shop-vpc --wait soon', `cancel shop-vpc ${CLOSED}`],
  },
  state: {
    normal: ['state list blog-vpc', 'state show blog-vpc', 'state restore blog-vpc --serial 2 --dry-run'],
    error: [
      'state',
      'state list ghost',
      'state list shop-vpc',
      'state show blog-vpc --serial 9',
      'state show blog-vpc --serial two',
      'state restore blog-vpc',
      'state restore blog-vpc --serial 2',
      'state restore blog-vpc --file FOLDER/none.json',
      'state discard blog-vpc',
      'state discard blog-vpc --copy 9-1a2b3c4d --yes',
      `state list blog-vpc ${CLOSED}`,
    ],
  },
  forget: {
    normal: ['forget blog-vpc --dry-run', 'forget scratch --dry-run', 'forget shop-vpc --orphan-resources --yes'],
    error: [
      'forget',
      'forget ghost',
      'forget blog-vpc',
      'forget blog-vpc --orphan-resources',
      `forget blog-vpc ${CLOSED}`,
    ],
  },
}
