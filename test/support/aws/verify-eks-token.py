# Recomputes the signature of EKS tokens with botocore. Reads a JSON list of tokens with the keys that should have signed
# them, writes a JSON list of what was found.
import base64, json, sys
from urllib.parse import parse_qs, urlsplit

from botocore.auth import SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials


def verify(case):
    text = case["token"][len("k8s-aws-v1."):]
    url = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode()
    parts = urlsplit(url)
    query = {name: values[0] for name, values in parse_qs(parts.query).items()}
    scope = query["X-Amz-Credential"].split("/")
    unsigned = "&".join(pair for pair in parts.query.split("&") if not pair.startswith("X-Amz-Signature="))
    request = AWSRequest("GET", f"https://{parts.netloc}/?{unsigned}", headers={"x-k8s-aws-id": case["cluster"]})
    request.context["timestamp"] = query["X-Amz-Date"]
    keys = Credentials(case["accessKeyId"], case["secretAccessKey"], query.get("X-Amz-Security-Token"))
    auth = SigV4QueryAuth(keys, scope[3], scope[2], int(query["X-Amz-Expires"]))
    expected = auth.signature(auth.string_to_sign(request, auth.canonical_request(request)), request)
    return {
        "isValid": expected == query["X-Amz-Signature"],
        "accessKeyId": scope[0],
        "region": scope[2],
        "service": scope[3],
        "host": parts.netloc,
        "action": query["Action"],
        "signedHeaders": query["X-Amz-SignedHeaders"].split(";"),
        "expires": int(query["X-Amz-Expires"]),
        "hasSession": "X-Amz-Security-Token" in query,
    }


json.dump([verify(case) for case in json.load(sys.stdin)], sys.stdout)
