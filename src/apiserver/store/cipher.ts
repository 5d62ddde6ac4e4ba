// Encrypts what is secret before it reaches the database: Secrets (Terraform state among them) and the tokens of realms.
// AES-256-GCM with a fresh nonce for every write; where a text belongs is authenticated with it, so that one row cannot be
// put in the place of another.
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { CaptError } from '#lib'
import type { Collection } from './store.ts'

export interface Cipher {
  seal(text: string, place: readonly string[]): string
  /** A text that was never sealed comes back as it is. */
  open(text: string, place: readonly string[]): string
}

const MARK = 'sealed:1:'
const NONCE_BYTES = 12
const TAG_BYTES = 16
export const KEY_BYTES = 32

export const isSealed = (text: string): boolean => text.startsWith(MARK)

export const isSecretCollection = ({ group, resource }: Collection): boolean => group === '' && resource === 'secrets'

/** For databases without a key, as tests of the store use them. */
export const noCipher: Cipher = { seal: (text) => text, open: (text) => text }

export function createCipher(key: Buffer): Cipher {
  return {
    seal(text, place) {
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv('aes-256-gcm', key, nonce)
      cipher.setAAD(Buffer.from(JSON.stringify(place)))
      const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
      return `${MARK}${Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64')}`
    },
    open(text, place) {
      if (!isSealed(text)) return text
      const bytes = Buffer.from(text.slice(MARK.length), 'base64')
      const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE_BYTES), {
        authTagLength: TAG_BYTES,
      })
      decipher.setAAD(Buffer.from(JSON.stringify(place)))
      decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES))
      try {
        const plain = decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES))
        return Buffer.concat([plain, decipher.final()]).toString('utf8')
      } catch (cause) {
        throw new CaptError('CAPT_DATA_CORRUPT', `The encrypted record ${place.join(' ')} cannot be opened`, {
          hint: 'it was damaged or moved; restore a backup of the data folder together with its key',
          cause,
        })
      }
    },
  }
}
