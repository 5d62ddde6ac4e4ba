// Just enough of Kubernetes' wire format to send a ConfigMap as Go clients do.
const varint = (value: number): number[] => (value < 128 ? [value] : [(value % 128) | 0x80, ...varint(value >> 7)])
const field = (number: number, payload: string | Buffer): Buffer => {
  const bytes = Buffer.from(payload)
  return Buffer.concat([Buffer.from([(number << 3) | 2, ...varint(bytes.length)]), bytes])
}

export function protobufConfigMap(name: string, data: Readonly<Record<string, string>>): Buffer {
  const entries = Object.entries(data).map(([key, value]) => field(2, Buffer.concat([field(1, key), field(2, value)])))
  const object = Buffer.concat([field(1, field(1, name)), ...entries])
  const type = Buffer.concat([field(1, 'v1'), field(2, 'ConfigMap')])
  return Buffer.concat([Buffer.from('k8s\0'), field(1, type), field(2, object)])
}
