# Creates or deletes an EKS cluster in moto.
import json, os, urllib.request

moto, name, region = (os.environ[key] for key in ("MOTO", "NAME", "REGION"))


def call(method, path, body=""):
    scope = f"testing/20260101/{region}/eks/aws4_request"
    headers = {
        "Authorization": f"AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host, Signature=0",
        "Content-Type": "application/json",
    }
    urllib.request.urlopen(urllib.request.Request(moto + path, body.encode(), headers, method=method)).read()


if os.environ["ACTION"] == "create":
    cluster = {"name": name, "roleArn": "arn:aws:iam::123456789012:role/eks", "resourcesVpcConfig": {"subnetIds": []}}
    call("POST", "/clusters", json.dumps(cluster))
else:
    call("DELETE", f"/clusters/{name}")
