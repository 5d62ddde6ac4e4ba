# Creates an EKS cluster in moto with its add-ons and its access entries, and what Karpenter needs beside it, or deletes them.
import hashlib, json, os, re, urllib.parse, urllib.request

moto, name, region = (os.environ[key] for key in ("MOTO", "NAME", "REGION"))


def send(service, method, path, data, headers):
    scope = f"testing/20260101/{region}/{service}/aws4_request"
    signed = f"AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host, Signature=0"
    request = urllib.request.Request(moto + path, data, {"Authorization": signed, **headers}, method=method)
    return urllib.request.urlopen(request).read().decode()


def call(method, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    send("eks", method, path, data, {"Content-Type": "application/json"})


def query(service, version, action, **parameters):
    body = urllib.parse.urlencode({"Action": action, "Version": version, **parameters}).encode()
    return send(service, "POST", "/", body, {"Content-Type": "application/x-www-form-urlencoded"})


def iam(action, **parameters):
    query("iam", "2010-05-08", action, **parameters)


def events(action, **body):
    headers = {"Content-Type": "application/x-amz-json-1.1", "X-Amz-Target": f"AWSEvents.{action}"}
    send("events", "POST", "/", json.dumps(body).encode(), headers)


def bounded(text, limit):
    """As the shipped template cuts a name that its service would refuse."""
    if len(text) <= limit:
        return text
    return f"{text[: limit - 9].rstrip('-.')}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


ROLES = [bounded(f"Karpenter{kind}Role-{name}", 64) for kind in ("Node", "Controller")]
PROFILE = bounded(f"KarpenterNodeInstanceProfile-{name}", 128)
POLICY = bounded(f"KarpenterControllerPolicy-{name}", 128)
QUEUE, RULE = bounded(f"Karpenter-{name}", 80), bounded(f"Karpenter-spot-{name}", 64)


def create_karpenter():
    trust = {"Version": "2012-10-17", "Statement": []}
    allow = {"Effect": "Allow", "Action": "ec2:DescribeInstances", "Resource": "*"}
    for role in ROLES:
        iam("CreateRole", RoleName=role, AssumeRolePolicyDocument=json.dumps(trust))
    iam("CreatePolicy", PolicyName=POLICY, PolicyDocument=json.dumps({**trust, "Statement": [allow]}))
    iam("CreateInstanceProfile", InstanceProfileName=PROFILE)
    query("sqs", "2012-11-05", "CreateQueue", QueueName=QUEUE)
    events("PutRule", Name=RULE, EventPattern=json.dumps({"source": ["aws.ec2"]}))


def delete_karpenter():
    events("DeleteRule", Name=RULE)
    urls = query("sqs", "2012-11-05", "ListQueues", QueueNamePrefix=QUEUE)
    for url in re.findall(r"<QueueUrl>([^<]+)<", urls):
        if url.split("/")[-1] == QUEUE:
            query("sqs", "2012-11-05", "DeleteQueue", QueueUrl=url)
    iam("DeleteInstanceProfile", InstanceProfileName=PROFILE)
    iam("DeletePolicy", PolicyArn=f"arn:aws:iam::123456789012:policy/{POLICY}")
    for role in ROLES:
        iam("DeleteRole", RoleName=role)


def create(version, subnets, addons, access):
    cluster = {
        "name": name,
        "version": version,
        "roleArn": "arn:aws:iam::123456789012:role/eks",
        "resourcesVpcConfig": {"subnetIds": subnets or []},
        "accessConfig": {"authenticationMode": "API_AND_CONFIG_MAP"},
    }
    call("POST", "/clusters", cluster)
    for addon in sorted({"coredns", "kube-proxy", "vpc-cni", "eks-pod-identity-agent", *addons}):
        call("POST", f"/clusters/{name}/addons", {"addonName": addon})
    for entry in access or []:
        call("POST", f"/clusters/{name}/access-entries", {"principalArn": entry["principal_arn"]})
        at = f"/clusters/{name}/access-entries/{urllib.parse.quote(entry['principal_arn'], safe='')}/access-policies"
        for policy in entry.get("policies") or []:
            namespaces = policy.get("namespaces") or []
            scope = {"type": "namespace", "namespaces": namespaces} if namespaces else {"type": "cluster"}
            arn = f"arn:aws:eks::aws:cluster-access-policy/{policy['name']}"
            call("POST", at, {"policyArn": arn, "accessScope": scope})


if os.environ["ACTION"] == "create":
    create(**json.loads(os.environ["WANTED"]))
    create_karpenter()
else:
    call("DELETE", f"/clusters/{name}")
    delete_karpenter()
